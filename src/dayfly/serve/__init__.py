"""LOOKING AT IT: the office that answers beside a running crawler, and ways to reach it."""

from dayfly.serve.house import House, LiveHouse, StillHouse
from dayfly.serve.office import Asked, Office, reach
from dayfly.serve.owner import serving, taken
from dayfly.serve.remote import Remote

__all__ = [
    "Asked",
    "House",
    "LiveHouse",
    "Office",
    "Remote",
    "StillHouse",
    "reach",
    "serving",
    "taken",
]
