"""Which releases of SQLite, and which file systems, keep what was committed."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

#: Releases before 3.51.3 can lose committed data if several connections use one write-ahead log.
#: These older lines were mended too: the first release that was, and the first of the next line.
_MENDED = (((3, 44, 6), (3, 45, 0)), ((3, 50, 7), (3, 51, 0)), ((3, 51, 3), (3, 52, 0)))
_SINCE = (3, 52, 1)
#: Locks and shared memory do not work across machines.
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "glusterfs"}


def is_safe(version: tuple[int, int, int]) -> bool:
    """Whether several processes may write to one file with this release of SQLite.

    >>> is_safe((3, 40, 1)), is_safe((3, 51, 3))
    (False, True)
    """
    return version >= _SINCE or any(low <= version < high for low, high in _MENDED)


def version_warning(version: tuple[int, int, int] | None = None) -> str:
    """What to know about this SQLite, empty if nothing.

    Dayfly's own way of working is safe with all of them: one process owns a file and has one
    connection that writes. So this warns and does not refuse.
    """
    version = version or sqlite3.sqlite_version_info[:3]
    if is_safe(version):
        return ""
    said = ".".join(map(str, version))
    return (
        f"SQLite {said} can lose committed data when several programs write to one file; Dayfly "
        f"writes from one, so do not write to its file with another (mended in 3.51.3, 3.50.7 and "
        f"3.44.6; distributions may have mended theirs)"
    )


def place_warning(path: str | os.PathLike[str]) -> str:
    """What to know about the file system under this path, empty if nothing."""
    kind = _file_system(Path(os.path.realpath(path)), Path("/proc/self/mountinfo"))
    if kind.removeprefix("fuse.") in _NETWORK or kind == "fuse.sshfs":
        return f"{path} is on a network file system ({kind}), where locks fail; use a local disk"
    return ""


def _file_system(path: Path, mounts: Path) -> str:
    """The kind of the file system on which this file is; empty where nobody tells."""
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        before, _, after = line.partition(" - ")
        point = before.split()[4].replace("\\040", " ")
        if len(point) >= len(best) and path.is_relative_to(point):
            best, kind = point, after.split()[0]
    return kind
