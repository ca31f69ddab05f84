"""WHAT IS REMEMBERED: sources, items, beliefs and visits; it never chooses."""

from dayfly.store.base import Listing, Store, StoredItem, StoredSource, fleet_of
from dayfly.store.checks import check_store
from dayfly.store.memory import MemoryStore
from dayfly.store.sqlite import SqliteStore

__all__ = [
    "Listing",
    "MemoryStore",
    "SqliteStore",
    "Store",
    "StoredItem",
    "StoredSource",
    "check_store",
    "fleet_of",
]
