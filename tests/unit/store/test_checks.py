"""The checks must catch the stores they are there to catch."""

import pytest

from dayfly.store import MemoryStore, check_store


class Trusting(MemoryStore):
    """Lets anybody write."""

    def record(self, crawl, estimate, fence):
        super().record(crawl, estimate, self._fence)


class Doubling(MemoryStore):
    """Forgets which items it has."""

    def unseen(self, row, keys):
        return set(keys)


class Live(MemoryStore):
    """Hands out its own list."""

    def sources(self):
        return self._sources


@pytest.mark.parametrize(
    ("broken", "promise"),
    [(Trusting, "fence"), (Doubling, "known"), (Live, "owner|reader")],
)
def test_a_broken_promise_is_named(broken, promise):
    with pytest.raises(AssertionError, match=promise):
        check_store(broken)
