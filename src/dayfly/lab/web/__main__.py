"""The simulated web as a process of its own: `python -m dayfly.lab.web --feeds 300`.

The first line that it prints is a JSON object that says where it is and what time it is there. It
ends when its standard input does, so that nothing is left running when its parent is gone; where
that is a file or /dev/null, which have no end to wait for, with SIGTERM or Ctrl-C.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path

import click

from dayfly.lab.web import Log, Plan, draw_plan, serve
from dayfly.lab.web.plan import FIRST
from dayfly.schedule.clock import FastClock
from dayfly.units import parse_duration


@click.command()
@click.option("--feeds", type=click.IntRange(1, 100_000), default=300, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--hostile", type=click.FloatRange(0, 0.9), default=0.0, help="Share of bad sites.")
@click.option("--span", default="7 days", show_default=True, help="How long they publish.")
@click.option("--speed", type=click.FloatRange(1, 1e6), default=1.0, help="Seconds per second.")
@click.option("--first", default=FIRST, show_default=True, help="First address; others follow.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0: one that is free.")
@click.option("--log", type=click.Path(dir_okay=False, path_type=Path), help="What was served.")
@click.option("--core", type=int, help="Run on this core alone.")
def main(
    feeds: int, seed: int, hostile: float, span: str, speed: float, first: str, port: int,
    log: Path | None, core: int | None,
) -> None:  # fmt: skip
    """Serve a web of feeds on loopback."""
    if core is not None:
        os.sched_setaffinity(0, {core})
    plan = draw_plan(feeds, seed=seed, span=parse_duration(span), hostile=hostile)
    kept = Log(log, keep=False)
    try:
        asyncio.run(_serve_until_left(plan, speed, port, first, kept))
    finally:
        kept.close()


async def _serve_until_left(plan: Plan, speed: float, port: int, first: str, log: Log) -> None:
    clock = FastClock(speed, start=plan.start)
    async with serve(plan, clock, port=port, first=first, log=log) as web:
        left = asyncio.Event()
        running = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            running.add_signal_handler(number, left.set)
        # Only pipes, sockets and terminals can be waited for; standard input may also be closed.
        with contextlib.suppress(PermissionError):
            if sys.stdin is not None:
                running.add_reader(sys.stdin.fileno(), left.set)
        print(
            json.dumps(
                {
                    "port": web.port,
                    "allow": plan.allowed(web.port, first),
                    # When the machine's monotonic clock read `origin_s`, it was `start_s` there.
                    "start_s": plan.start,
                    "origin_s": clock.origin,
                    "speed": speed,
                    "urls": [plan.url(site.row, web.port, first) for site in plan.sites],
                }
            ),
            flush=True,
        )
        await left.wait()


if __name__ == "__main__":
    main()
