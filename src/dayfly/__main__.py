"""The `dayfly` command, also as `python -m dayfly`."""

import sys


def main() -> None:
    """Entry point; Ctrl-C while it is still being loaded is no accident either."""
    try:
        from dayfly.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
