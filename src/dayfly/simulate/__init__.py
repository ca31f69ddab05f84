"""A WORLD with known truth: play a policy in it, and score it beside the bound."""

import sys
import types
from typing import TYPE_CHECKING, Any

# A module of the name of its function is imported at once: later it would take the name back.
from dayfly.simulate.contenders import contenders
from dayfly.simulate.oracle import Oracle
from dayfly.simulate.replay import Replay, replay
from dayfly.simulate.run import Run, play, simulate
from dayfly.simulate.stage import Step
from dayfly.simulate.synth import synth
from dayfly.simulate.trace import Trace

if TYPE_CHECKING:
    from dayfly.simulate.crawl import crawl_world
    from dayfly.simulate.scale import ScaleRun, SteadyWorld, play_scheduler
    from dayfly.simulate.world import World


class _Room(types.ModuleType):
    """The room and its main function share a name: `dayfly.simulate(...)` plays a policy.

    Python binds a folder's name in its parent whenever the folder is imported, so the function
    could not keep `dayfly.simulate` to itself; instead the room can be called.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Run:
        return simulate(*args, **kwargs)


sys.modules[__name__].__class__ = _Room


def __getattr__(name: str) -> Any:
    # The twin of the live loop brings the loop's own imports along; only who asks pays for them.
    if name == "World":
        from dayfly.simulate.world import World

        return World
    if name == "crawl_world":
        from dayfly.simulate.crawl import crawl_world

        return crawl_world
    if name in ("ScaleRun", "SteadyWorld", "play_scheduler"):
        from dayfly.simulate import scale

        return getattr(scale, name)
    raise AttributeError(f"module 'dayfly.simulate' has no attribute {name!r}")


__all__ = [
    "Oracle",
    "Replay",
    "Run",
    "ScaleRun",
    "SteadyWorld",
    "Step",
    "Trace",
    "World",
    "contenders",
    "crawl_world",
    "play",
    "play_scheduler",
    "replay",
    "simulate",
    "synth",
]
