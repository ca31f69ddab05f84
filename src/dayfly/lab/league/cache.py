"""Results that are kept, one small file each, under a name made from all they depend on."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from dayfly.errors import BadInput
from dayfly.files import replacing
from dayfly.lab.league.outcome import Outcome

#: Whoever changes what an outcome means counts up.
_FORMAT = 1


def default_folder() -> Path:
    """Where results are kept if nobody says otherwise."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The rule of the XDG base directories: what is not absolute is ignored.
    root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return root / "dayfly" / "league"


class Cache:
    """Outcomes in a folder. What cannot be read there counts as not there."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(
                f"cannot keep results in {folder}: {error.strerror}; choose another with --cache"
            ) from None
        if not os.access(self.folder, os.W_OK):
            raise BadInput(f"cannot keep results in {folder}; choose another with --cache")

    def find(self, key: dict[str, Any]) -> Outcome | None:
        """What was kept for this key; None if there is nothing, or nothing that can be used."""
        try:
            entry = msgspec.json.decode(self._path(key).read_bytes(), type=_Entry)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        return entry.outcome if entry.key == key else None

    def keep(self, key: dict[str, Any], outcome: Outcome) -> None:
        """Keep an outcome; a reader sees all of it or nothing."""
        path = self._path(key)
        try:
            path.parent.mkdir(exist_ok=True)
            with replacing(path) as file:
                file.write(msgspec.json.encode(_Entry(key=key, outcome=outcome)))
        except OSError as error:
            raise BadInput(
                f"cannot keep results in {self.folder}: {error.strerror}; choose another with"
                " --cache"
            ) from None

    def _path(self, key: dict[str, Any]) -> Path:
        text = msgspec.json.encode([_FORMAT, sorted(key.items())])
        return self.folder / str(key["scenario"]) / f"{blake2b(text, digest_size=16).hexdigest()}"


class _Entry(msgspec.Struct, kw_only=True):
    key: dict[str, Any]
    outcome: Outcome
