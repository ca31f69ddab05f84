"""GOING OUT: one guarded way to the network, and feeds as items."""

from dayfly.fetch.client import Fetcher, HttpFetcher, Target
from dayfly.fetch.feeds import read_feed
from dayfly.fetch.gate import Unreadable
from dayfly.fetch.guard import Forbidden, Guard

__all__ = ["Fetcher", "Forbidden", "Guard", "HttpFetcher", "Target", "Unreadable", "read_feed"]
