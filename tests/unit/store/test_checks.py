"""The checks must catch the stores they are there to catch."""

import pytest
from msgspec.structs import replace

from dayfly.store import MemoryStore, check_store


class Trusting(MemoryStore):
    """Lets anybody write."""

    def record(self, records, fence):
        super().record(records, self._fence)


class Doubling(MemoryStore):
    """Forgets which items it has."""

    def unseen(self, row, keys):
        return set(keys)


class Live(MemoryStore):
    """Hands out its own list."""

    def sources(self):
        return self._sources


class Halving(MemoryStore):
    """Writes what it can of a batch."""

    def record(self, records, fence):
        for record in records:
            super().record([record], fence)


class Overruling(MemoryStore):
    """Takes the word of a crawl for the operator's."""

    def record(self, records, fence):
        super().record(records, fence)
        for record in records:
            self._sources[record.source.row] = record.source


class Forgiving(MemoryStore):
    """Lets whoever asks last decide when a host may be visited."""

    def record(self, records, fence):
        super().record(records, fence)
        for record in records:
            until = record.crawl.host_not_before
            if until is not None:
                state = self._hosts[record.source.host]
                self._hosts[record.source.host] = replace(state, not_before=until)


class Hasty(MemoryStore):
    """Tells of lost visits once, whether or not anybody took note."""

    def lost(self, fence):
        found = super().lost(fence)
        self.release(found, fence)
        return found


class Amnesic(MemoryStore):
    """Forgets keys with their items."""

    def forget(self, **arguments):
        dropped = super().forget(**arguments)
        self._known = {(item.row, item.key) for item in self._items}
        return dropped


class Literal(MemoryStore):
    """Takes a site that became encrypted for another one."""

    def unseen(self, row, keys):
        stored = {item.key for item in self._items if item.row == row}
        return super().unseen(row, keys) | {key for key in keys if key[:5] == "https"} - stored


class Recounting(MemoryStore):
    """Numbers items anew when some are gone."""

    def forget(self, **arguments):
        dropped = super().forget(**arguments)
        self._numbers = len(self._items)
        return dropped


class Hoarding(MemoryStore):
    """Keeps events for ever."""

    def forget(self, **arguments):
        events = self._events
        items, visits, _ = super().forget(**arguments)
        self._events = events
        return items, visits, 0


class Restless(MemoryStore):
    """Never says that nothing is left."""

    def forget(self, **arguments):
        super().forget(**arguments)
        return 1, 0, 0


class Generous(MemoryStore):
    """Notes what is left before it looks at who asks."""

    def claim(self, rows, time, fence, funds=None):
        self._funds = funds or self._funds
        super().claim(rows, time, fence, funds)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (Trusting, "fence"),
        (Doubling, "known"),
        (Live, "leave|reader"),
        (Halving, "refused batch"),
        (Overruling, "undo"),
        (Forgiving, "shorten"),
        (Hasty, "taken note"),
        (Amnesic, "keys stay known"),
        (Literal, "one key"),
        (Recounting, "given twice"),
        (Hoarding, "events that are older must be dropped"),
        (Restless, "come to an end"),
        (Generous, "leave what is left alone"),
    ],
)
def test_a_broken_promise_is_named(broken, promise):
    with pytest.raises(AssertionError, match=promise):
        check_store(broken)
