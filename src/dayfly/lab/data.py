"""Where recorded data are found: the one place that knows."""

from __future__ import annotations

import os
from pathlib import Path

from dayfly.errors import BadInput

#: A folder of this name, beside the checkout, is looked into if nobody says otherwise.
BESIDE = "../shared/data"


def data_folder() -> Path:
    """The folder that DAYFLY_DATA names, else `../shared/data` beside the checkout."""
    named = os.environ.get("DAYFLY_DATA")
    if named:
        return Path(named)
    return Path(os.path.normpath(Path(__file__).resolve().parents[3] / BESIDE))


def data_file(name: str) -> Path:
    """A recorded file; an error that says where it was looked for if it is not there."""
    path = data_folder() / name
    if not path.is_file():
        raise BadInput(
            f"{name} is needed and was looked for in {path.parent}; name the folder that holds it"
            " with the environment variable DAYFLY_DATA"
        )
    return path
