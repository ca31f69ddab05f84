"""Work on long columns in pieces that fit the cache, on as many cores as there are.

A fleet of ten million does not fit any cache: evaluated in one go, every intermediate result
travels to memory and back. In blocks of a megabyte it stays, and numpy lets go of the interpreter
while it computes, so blocks run side by side; smaller ones would wait for the interpreter more than
they gain. The result is the same.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from dayfly.model import Array, Harvest, Mixed, Rows

_BLOCK = 1 << 17
#: Below this, starting threads costs more than they save.
_ALONE = 1 << 18


def in_blocks(work: Callable[[slice], None], n: int, threads: int | None = None) -> None:
    """Call `work` on consecutive slices that cover `range(n)`; `threads=None` means all cores."""
    if n <= _BLOCK:
        work(slice(0, n))
        return
    wanted = _cores() if threads is None else threads
    if wanted == 1 or n < _ALONE:
        _run(work, 0, n)
        return
    share = -(-n // (wanted * 4 * _BLOCK)) * _BLOCK
    with ThreadPoolExecutor(wanted) as pool:
        pieces = [pool.submit(_run, work, at, min(at + share, n)) for at in range(0, n, share)]
        for piece in pieces:
            piece.result()


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _run(work: Callable[[slice], None], start: int, stop: int) -> None:
    for at in range(start, stop, _BLOCK):
        work(slice(at, min(at + _BLOCK, stop)))


def fill(
    out: Array,
    harvest: Harvest,
    work: Callable[[Harvest, slice | Rows], Array],
    threads: int | None = None,
) -> Array:
    """Compute `out` block by block; `work` gets the curves of a block and which rows those are."""
    if isinstance(harvest, Mixed):
        for rows, curves in harvest.parts:
            _fill_part(out, rows, curves, work, threads)
        return out

    def block_of_all(block: slice) -> None:
        out[block] = work(harvest[block], block)

    in_blocks(block_of_all, len(out), threads)
    return out


def _fill_part(
    out: Array,
    rows: Rows,
    curves: Harvest,
    work: Callable[[Harvest, slice | Rows], Array],
    threads: int | None,
) -> None:
    def block_of_part(block: slice) -> None:
        out[rows[block]] = work(curves[block], rows[block])

    in_blocks(block_of_part, len(rows), threads)
