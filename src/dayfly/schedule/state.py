"""All that decisions depend on, as settings and columns: what a snapshot keeps.

Where each source is in the calendar is left out: it follows from the rest, and who is chosen does
not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from dayfly.schedule.desk import Desk
from dayfly.schedule.limits import Houses, Limits
from dayfly.schedule.purse import Purse
from dayfly.schedule.purses import PerName, Purses
from dayfly.schedule.roster import Roster

Column = npt.NDArray[Any]
_COLUMNS = ("record", "host", "flags", "failures")
_LIMITS = ("spacing", "parallel", "host_budget", "group_budget")
_HOUSE = ("next_at", "blocked", "under_way")
_PURSES = ("left", "filled_at")
_PURSE = ("budget", "left", "filled_at", "share", "epoch", "given_burst", "crawls")
#: What has another name in a snapshot.
_KEPT_AS = {"next_at": "next", "filled_at": "at"}


def desk_state(desk: Desk) -> tuple[dict[str, Any], dict[str, Column]]:
    """The whole scheduler: settings, and columns that are not copies."""
    roster, columns = _roster_state(desk.roster)
    houses, more = _houses_state(desk.houses)
    settings = {
        "roster": roster,
        "houses": houses,
        "purse": _purse_state(desk.purse),
        "floor": _purse_state(desk.floor.own),
        "floor_share": desk.floor.share,
        "market": desk.market.kept,
        "clock": [desk.now, desk.looked],
        "at_host": [list(pair) for pair in desk.houses.elsewhere.items()],
    }
    return settings, columns | more


def read_desk(settings: Mapping[str, Any], columns: Mapping[str, Column]) -> Desk:
    """The scheduler that was kept: it decides the same, bit for bit."""
    roster = _read_roster(settings["roster"], columns)
    houses = _read_houses(settings["houses"], columns, roster)
    purse = _read_purse(settings["purse"], roster.dearest)
    now, looked = settings["clock"]
    houses.elsewhere = dict(settings["at_host"])
    own = _read_purse(settings["floor"], roster.dearest)
    return Desk(
        roster, houses, purse, own, settings["floor_share"], now,
        looked=looked, kept=settings["market"],
    )  # fmt: skip


def _roster_state(roster: Roster) -> tuple[dict[str, Any], dict[str, Column]]:
    """Sources: their columns and names."""
    columns = {name: getattr(roster, name)[: roster.n] for name in _COLUMNS}
    columns |= {f"optional.{name}": c[: roster.n] for name, c in roster.optional.items()}
    settings = {
        "epoch": roster.epoch,
        "intervals": [roster.least, roster.most],
        "hosts": roster.hosts.known,
        "groups": roster.groups.known,
        "names": roster.names,
        "any": [roster.any_observed, roster.any_failed],
        "fades": roster.fades,
        "costs": [roster.cheapest, roster.dearest],
    }
    return settings, columns


def _read_roster(settings: Mapping[str, Any], columns: Mapping[str, Column]) -> Roster:
    """The roster that was kept."""
    least, most = settings["intervals"]
    roster = Roster(settings["epoch"], (least, most), named=settings["names"] is not None)
    roster.fill(columns["record"], columns["host"], columns["flags"], columns["failures"])
    for name, column in columns.items():
        if name.startswith("optional."):
            roster.optional[name.removeprefix("optional.")] = column
    roster.hosts.codes(settings["hosts"])
    roster.groups.codes(settings["groups"])
    roster.names = settings["names"]
    roster.any_observed, roster.any_failed = settings["any"]
    roster.fades = settings["fades"]
    roster.cheapest, roster.dearest = settings["costs"]
    return roster


def _houses_state(houses: Houses) -> tuple[dict[str, Any], dict[str, Column]]:
    """Hosts and groups: what is allowed, and what has been used of it."""
    columns: dict[str, Column] = {
        f"host.{_kept_as(name)}": getattr(houses, name)[: houses.n] for name in _HOUSE
    }
    for kind, purses in (("host", houses.purses), ("group", houses.group_purses)):
        for name in _PURSES:
            columns[f"{kind}.purse.{_kept_as(name)}"] = getattr(purses, name)[: purses.n]
    limits = {name: getattr(houses.limits, name) for name in _LIMITS}
    kept = {name: _plain(limit) for name, limit in limits.items()}
    return {"limits": kept, "any_blocked": houses.any_blocked}, columns


def _plain(limit: PerName) -> float | dict[str, float] | None:
    if isinstance(limit, Mapping):
        return {str(name): float(value) for name, value in limit.items()}
    return None if limit is None else float(limit)


def _read_houses(
    settings: Mapping[str, Any], columns: Mapping[str, Column], roster: Roster
) -> Houses:
    """The hosts and groups that were kept."""
    houses = Houses(Limits(**settings["limits"]), roster.epoch)
    houses.grow(roster.hosts.known, roster.groups.known, roster.dearest, 0.0)
    for name in _HOUSE:
        setattr(houses, name, columns[f"host.{_kept_as(name)}"])
    both: tuple[tuple[str, Purses], ...] = (("host", houses.purses), ("group", houses.group_purses))
    for kind, purses in both:
        for name in _PURSES:
            setattr(purses, name, columns[f"{kind}.purse.{_kept_as(name)}"])
    houses.any_blocked = settings["any_blocked"]
    return houses


def _purse_state(purse: Purse) -> dict[str, Any]:
    """One purse."""
    return {_kept_as(name): getattr(purse, name) for name in _PURSE}


def _read_purse(settings: Mapping[str, Any], dearest: float) -> Purse:
    """The purse that was kept."""
    purse = Purse(
        settings["budget"], settings["at"], epoch=settings["epoch"],
        burst=settings["given_burst"], dearest=dearest, crawls=settings["crawls"],
    )  # fmt: skip
    for name in _PURSE:
        setattr(purse, name, settings[_kept_as(name)])
    return purse


def _kept_as(name: str) -> str:
    """What this is called in a snapshot."""
    return _KEPT_AS.get(name, name)
