"""WHAT IS REMEMBERED: sources, items, beliefs and visits; it never chooses."""

from dayfly.model import RobotsCopy
from dayfly.store.backup import restore
from dayfly.store.base import Event, Funds, HostState, Record, Store, StoredItem
from dayfly.store.checks import check_store
from dayfly.store.gate import place_warning, version_warning
from dayfly.store.lock import owned
from dayfly.store.memory import MemoryStore
from dayfly.store.sources import Listing, State, StoredSource, fleet_of
from dayfly.store.sqlite import SqliteStore

__all__ = [
    "Event",
    "Funds",
    "HostState",
    "Listing",
    "MemoryStore",
    "Record",
    "RobotsCopy",
    "SqliteStore",
    "State",
    "Store",
    "StoredItem",
    "StoredSource",
    "check_store",
    "fleet_of",
    "owned",
    "place_warning",
    "restore",
    "version_warning",
]
