"""What people hand over and get back: fleets, settings, lists of sources."""

from dayfly.config.files import read_fleet, write_text_atomically

__all__ = ["read_fleet", "write_text_atomically"]
