"""Work that may run side by side, each piece in a process of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from typing import Any, TypeAlias, TypeVar

from dayfly.errors import DayflyError

Name = TypeVar("Name", bound=Hashable)
#: A name, a function that another process can import, and its arguments.
Job: TypeAlias = tuple[Name, Callable[..., Any], tuple[Any, ...]]


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_jobs(jobs: Sequence[Job[Name]], workers: int) -> Iterator[tuple[Name, Any]]:
    """Run all jobs and hand over each result as it comes, under the name of its job.

    Jobs start in the order given. With one worker they run right here, and no process is started.
    A script that asks for more needs the usual `if __name__ == "__main__":`.

    >>> list(run_jobs([("a", max, (1, 2)), ("b", min, (1, 2))], workers=1))
    [('a', 2), ('b', 1)]
    """
    if workers <= 1 or len(jobs) <= 1:
        for name, function, arguments in jobs:
            yield name, function(*arguments)
        return
    others = set(active_children())
    # Fresh processes: a fork would copy whatever threads the caller has.
    pool = ProcessPoolExecutor(
        min(workers, len(jobs)), mp_context=get_context("spawn"), initializer=_deaf
    )
    try:
        names: dict[Future[Any], Name] = {
            pool.submit(function, *arguments): name for name, function, arguments in jobs
        }
        left = set(names)
        while left:
            done, left = wait(left, return_when=FIRST_COMPLETED)
            for future in done:
                yield names[future], future.result()
    except BrokenProcessPool:
        raise DayflyError(
            "a worker process was ended from outside, or could not start; is there enough memory?"
        ) from None
    except BaseException:
        for child in set(active_children()) - others:
            child.terminate()  # nobody waits for a job any more
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _deaf() -> None:
    """Ctrl-C is for the process that started this one, which then ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
