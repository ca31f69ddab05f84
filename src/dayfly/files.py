"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from dayfly.errors import BadInput


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that takes this name at the end of the block, or is gone if the block fails.

    It is a draft in the same folder until then: a reader sees the old file or the new, never half
    of one.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise BadInput(f"{path}: is not a file that can be replaced; name another")
    draft = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with open(descriptor, "wb") as file:
            if target.exists():
                os.chmod(draft, stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
