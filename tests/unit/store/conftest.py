"""Where the tests of stores put their files."""

import os
import tempfile
from pathlib import Path

import pytest

#: In memory, if there is such a place: a killed process loses nothing there either, and hundreds of
#: files need not wait for the disk.
QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@pytest.fixture
def quick_path():
    """A folder of its own where syncing costs nothing."""
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        yield Path(folder)
