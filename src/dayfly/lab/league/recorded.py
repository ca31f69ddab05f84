"""Recorded traces of the league, read from the files of the data folder as they are."""

from __future__ import annotations

import csv
import gzip
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from dayfly.errors import BadInput
from dayfly.lab.data import data_file
from dayfly.simulate import Trace

_DAY = 86400.0
#: The files; where they come from, docs/reference/data.md says.
NEWS, SOCIAL = "news_arrivals.csv.gz", "social_arrivals_2020.csv.gz"
FORUMS = "forum_posts.csv.gz"


def news() -> Trace:
    """Articles of 6,626 publishers over 90 days, each worth 1.

    An article is on several lists; its first line counts. Source 0 is an aggregator and left out.
    """
    columns = {"item_id": int, "source_id": int, "published": float}
    lines = _lines(NEWS, columns)
    found = np.fromiter(lines, dtype="i8,i8,f8")
    item, source, published = (found[name] for name in ("f0", "f1", "f2"))
    _, first = np.unique(item, return_index=True)
    kept = first[source[first] != 0]
    return Trace.from_columns(source[kept].tolist(), published[kept])


def social(begin: float, days: float) -> Trace:
    """Posts of the year's 1,134 accounts, each worth 1; an account may be silent all the time."""
    lines = _lines(SOCIAL, {"account_id": str, "t": float})
    return _cut(((name, time, 1.0) for name, time in lines), begin, days)


def forums(begin: float, days: float) -> Trace:
    """Posts of 471 forums; a post is worth its score in the end, and nothing if that is below 0."""
    columns = {"subreddit": str, "created_utc": float, "score": float}
    lines = _lines(FORUMS, columns)
    return _cut(((name, time, max(score, 0.0)) for name, time, score in lines), begin, days)


def _cut(lines: Iterable[tuple[str, float, float]], begin: float, days: float) -> Trace:
    """The items of some days, with every source of the file: who is silent is still listed."""
    codes: dict[str, int] = {}
    source, times, worths = array("q"), array("d"), array("d")
    for name, time, worth in lines:
        code = codes.setdefault(name, len(codes))
        if begin <= time < begin + days * _DAY:
            source.append(code)
            times.append(time)
            worths.append(worth)
    return Trace.from_codes(list(codes), np.array(source, dtype=np.int64), times, worths)


def _lines(name: str, columns: Mapping[str, Callable[[str], Any]]) -> Iterator[tuple[Any, ...]]:
    """Line by line the cells of some columns, each turned into what it is."""
    path = data_file(name)
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            cells = csv.reader(file)
            header = next(cells, [])
            for column in columns:
                if column not in header:
                    raise BadInput(f"{path}: has no column {column}; is this the right file?")
            wanted = [(header.index(column), turn) for column, turn in columns.items()]
            for line in cells:
                yield tuple(turn(line[place]) for place, turn in wanted)
    except BadInput:
        raise
    except (EOFError, zlib.error, OSError, ValueError, IndexError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from None
