"""The command line: the library's shadow. Commands are imported when they are used."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from dayfly import __version__
from dayfly.errors import DayflyError, UnknownName

#: Commands in the order of the help: where each one lives, and its line there.
COMMANDS = {
    "demo": ("dayfly.cli.demo:demo", "Crawl a simulated web on this machine, end to end."),
    "run": ("dayfly.cli.run:run", "Crawl within a budget, until Ctrl-C."),
    "sources": ("dayfly.cli.sources:sources", "What is crawled: add, list, pause, import, export."),
    "items": ("dayfly.cli.items:items", "What was caught, once or as it comes in."),
    "explain": ("dayfly.cli.explain:explain", "When a source is due, and what holds it back."),
    "refresh": ("dayfly.cli.refresh:refresh", "Visit a source as soon as politeness allows."),
    "stats": ("dayfly.cli.stats:stats", "What was caught lately, and who needs a look."),
    "events": ("dayfly.cli.events:events", "Learn from clicks and votes what items are worth."),
    "doctor": ("dayfly.cli.doctor:doctor", "Whether all is well: database, clock, limits."),
    "backup": ("dayfly.cli.backup:backup", "Copy the database, while it is in use."),
    "restore": ("dayfly.cli.backup:restore", "Make a backup the database."),
    "plan": ("dayfly.cli.plan:plan", "How often to crawl each source, and what budget buys."),
    "simulate": ("dayfly.cli.simulate:simulate", "Try policies on a fleet, beside the bound."),
    "bound": ("dayfly.cli.bound:bound", "The most that a budget can catch, and its price."),
    "index": ("dayfly.cli.index:index", "What one crawl of each source is worth now."),
    "replay": ("dayfly.cli.replay:replay", "Play a recorded trace against policies, cold."),
    "synth": ("dayfly.cli.synth:synth", "Write a trace with known truth."),
    "league": ("dayfly.cli.league:league", "All policies in all scenarios, at equal budget."),
    "reproduce": ("dayfly.cli.reproduce:reproduce", "The papers' numbers and figures, checked."),
    "trial": ("dayfly.cli.trial:trial", "The scheduler put to the test, beside its aims."),
}


class Lazy(click.Group):
    """A group that imports a command when it is used, so that `--help` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments ask for; the nearest is suggested for an unknown one."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            ctx.fail(str(UnknownName("command", args[0], COMMANDS)))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help lines, without importing what they are about."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; whatever is expected to go wrong ends in one line and an exit code."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except DayflyError as error:
            click.echo(f"dayfly: {' '.join(str(error).split())}", err=True)
            ctx.exit(1)
        except KeyboardInterrupt:
            ctx.exit(130)
        except BrokenPipeError:
            # Whoever read has gone; the interpreter's own last flush must not complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(1)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            click.echo(f"dayfly: {error.strerror or error}", err=True)
            ctx.exit(1)
        return result


@click.group(cls=Lazy)
@click.version_option(__version__, prog_name="dayfly")
def cli() -> None:
    """Decides which source to crawl next when what the sources publish is worth something for
    hours, not for ever, and crawls it: dayfly run feeds.opml --budget 60/min

    Where a command takes FLEET.csv, that has one source per line: id, arrival (40/day), half_life
    (6h), and if you like worth, cost, host or url, lifetime, window; - reads standard input.
    """


def main() -> None:
    """Entry point of the `dayfly` command."""
    cli(prog_name="dayfly")
