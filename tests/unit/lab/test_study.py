"""The whole study in small: jobs, processes, and what is left out."""

import pytest

from dayfly.lab import drawing
from dayfly.lab.jobs import run_jobs
from dayfly.lab.study import FULL, QUICK, Effort, _jobs, reproduce

SMALL = Effort(seeds=3, epochs=10)


def test_how_many_processes_work_on_it_changes_nothing():
    seen = []
    alone = reproduce(SMALL, with_figures=False)
    shared = reproduce(
        SMALL,
        with_figures=False,
        workers=2,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert shared.rows == alone.rows
    assert seen == [(done, 8) for done in range(9)]


def test_an_error_in_a_process_reaches_the_caller():
    jobs = [(("good",), float, ("1",)), (("bad",), float, ("x",))]
    with pytest.raises(ValueError, match="could not convert"):
        dict(run_jobs(jobs, workers=2))


def test_without_matplotlib_all_rows_are_measured_and_no_figure_is_drawn(study, tiny, monkeypatch):
    monkeypatch.setattr(drawing, "available", lambda: False)
    without = reproduce(tiny)
    assert without.rows == study.rows
    assert without.papers == without.beyond == []


def test_seeds_are_shared_out_without_loss():
    for effort in (FULL, QUICK, Effort(seeds=41)):
        jobs = _jobs(effort, with_beyond=True)
        seeds = [s for (case, *_), _, (_, *rest) in jobs if case == "poisson" for s in rest[0]]
        assert seeds == list(range(effort.seeds))
        assert {n for (kind, n), *_ in jobs if kind == "gap"} == set(effort.sizes)


def test_the_full_effort_is_what_the_papers_need():
    assert FULL.seeds >= 40
    assert FULL.epochs >= 10_000
    assert max(FULL.sizes) >= 100_000
    assert not FULL.quick


def test_rows_that_are_wrong_are_named(study):
    assert all(not row.agrees for row in study.disagreeing)
    assert len(study.disagreeing) == sum(not row.agrees for row in study.rows)
