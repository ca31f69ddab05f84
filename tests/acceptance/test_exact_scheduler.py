"""Tens of thousands of random histories, and never another choice than that of a full scan."""

import pytest
from tests.unit.schedule.test_exact import Duel, guessed_price, tiny_calendar

pytestmark = [pytest.mark.acceptance, pytest.mark.usefixtures("tiny_calendar", "guessed_price")]

#: Sequences of each case, of which there are `CASES` for each kind of calendar and of time.
SEQUENCES = 320
CASES = 8

__all__ = ["guessed_price", "tiny_calendar"]


@pytest.mark.parametrize("case", range(CASES))
@pytest.mark.parametrize("slotted", [False, True], ids=["continuous", "slotted"])
def test_the_scheduler_chooses_as_a_full_scan_does_whatever_happened_before(slotted, case):
    first = 1_000_000 * (case + 1)
    chosen = operations = 0
    for seed in range(first, first + SEQUENCES):
        # Kinds that are slow to score, and crowds, take their turn less often.
        duel = Duel(
            seed, slotted=slotted, hosts=case % 2 == 1, mixed=seed % 16 == 0, crowded=seed % 6 == 1
        )
        chosen += duel.play()
        operations += len(duel.words) - 2
    print(f"{SEQUENCES} sequences, {operations} operations, {chosen} choices, seeds from {first}")
    assert chosen > SEQUENCES
