"""`python -m dayfly` is `dayfly`."""

from dayfly.cli import main

if __name__ == "__main__":
    main()
