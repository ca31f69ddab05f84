"""A WORLD with known truth: play a policy in it, and score it beside the bound."""

import sys
import types
from typing import Any

from dayfly.simulate.run import Run, Step, play, simulate


class _Room(types.ModuleType):
    """The room and its main function share a name: `dayfly.simulate(...)` plays a policy.

    Python binds a folder's name in its parent whenever the folder is imported, so the function
    could not keep `dayfly.simulate` to itself; instead the room can be called.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Run:
        return simulate(*args, **kwargs)


sys.modules[__name__].__class__ = _Room

__all__ = ["Run", "Step", "play", "simulate"]
