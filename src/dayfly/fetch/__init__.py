"""GOING OUT: one guarded way to the network, and documents as items."""

from dayfly.fetch.base import Fetcher, Target
from dayfly.fetch.client import HttpFetcher
from dayfly.fetch.discovery import Found, feeds_in, usual_places
from dayfly.fetch.documents import KINDS, Document, Reader, Unreadable
from dayfly.fetch.errors import FetchError
from dayfly.fetch.feeds import read_feed
from dayfly.fetch.guard import Guard
from dayfly.fetch.headers import check_headers, user_agent
from dayfly.fetch.names import Names
from dayfly.fetch.pages import check_select
from dayfly.fetch.robots import Robots, Verdict
from dayfly.fetch.urls import Forbidden, check_url
from dayfly.fetch.web import Answer, Deadlines, Web

__all__ = [
    "KINDS",
    "Answer",
    "Deadlines",
    "Document",
    "FetchError",
    "Fetcher",
    "Forbidden",
    "Found",
    "Guard",
    "HttpFetcher",
    "Names",
    "Reader",
    "Robots",
    "Target",
    "Unreadable",
    "Verdict",
    "Web",
    "check_headers",
    "check_select",
    "check_url",
    "feeds_in",
    "read_feed",
    "user_agent",
    "usual_places",
]
