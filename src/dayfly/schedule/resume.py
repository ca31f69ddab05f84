"""Carry on where the store says that the last run stopped."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from msgspec.structs import replace

from dayfly.errors import BadInput
from dayfly.estimate import Estimator
from dayfly.fetch import Fetcher
from dayfly.learn.live import LiveEstimator
from dayfly.model import Fleet
from dayfly.schedule.abilities import Refitting
from dayfly.schedule.clock import Clock
from dayfly.schedule.limits import Limits
from dayfly.schedule.loop import Loop
from dayfly.schedule.manners import Rules
from dayfly.schedule.news import News, Notice
from dayfly.schedule.scheduler import Scheduler
from dayfly.store.base import HostState, Store
from dayfly.store.pauses import is_pause
from dayfly.store.sources import Listing, State, StoredSource, check_numbers, fleet_of

_DAY = 86400.0
#: A source whose visits ended so often, in a row, with the death of the crawler is left alone.
_MOST_LOST = 3
#: Whatever a source asked for, it is not left alone for longer than this.
_LONGEST_WAIT = 1.25 * _DAY


def resume(
    store: Store,
    fetcher: Fetcher,
    clock: Clock,
    *,
    budget: float,
    rules: Rules | None = None,
    epoch: float | None = None,
    max_interval: float = 14 * _DAY,
    burst: float | None = None,
    tick: float = 1.0,
    parallel: int = 128,
    estimator: Callable[[Fleet], Estimator] | None = None,
    watch: Callable[[News], None] | None = None,
) -> Loop:
    """A loop over all stored sources, with the beliefs, ages and waits that the store remembers.

    The price and what was left of the budget are remembered, too: a restart neither learns the one
    anew nor brings more of the other. A store that was never crawled gives a loop that starts from
    the operator's guesses.
    """
    rules = rules or Rules()
    # Owned first, read then: what the owner before us still wrote would be missed otherwise.
    fence = store.own()
    now = clock.now()
    lost = set(store.lost(fence))
    found = store.sources()
    sources = [_settled(source, now, rules) for source in found]
    for row in lost:
        sources[row] = _lost(sources[row], now, rules)
    store.change(new for old, new in zip(found, sources, strict=True) if new is not old)
    # Only now: who dies in between tells of them once more.
    store.release(sorted(lost), fence)
    belief = _belief(sources, estimator, budget if epoch is None else budget / epoch, rules)
    scheduler = Scheduler(
        belief.mean(),
        budget,
        now,
        epoch=epoch,
        # The minimum interval is one of the rules behind `not_before`, which is stored.
        min_interval=0.0,
        max_interval=[
            max_interval if source.max_interval is None else source.max_interval
            for source in sources
        ]
        or max_interval,
        burst=burst,
        limits=Limits(spacing=rules.host_spacing or None, parallel=1),
        last=[source.last_crawl for source in sources],
        not_before=[source.not_before for source in sources],
        funds=store.funds(),
    )
    paused = [source.row for source in sources if source.state is not State.ACTIVE]
    if paused:
        scheduler.pause(paused)
    loop = Loop(
        scheduler,
        belief,
        fetcher,
        store,
        clock,
        rules=rules,
        tick=tick if epoch is None else epoch,
        parallel=parallel,
        watch=watch,
        fence=fence,
        max_interval=max_interval,
    )
    for host, until in _peace(store.hosts(), sources, lost, now, rules).items():
        loop.block_host(host, until)
    for source in sources:
        if source.row in lost and source.state is State.QUARANTINED:
            said = f"{source.name}: the crawler died {source.lost} times during its visits"
            loop.tell(Notice(time=now, kind="quarantine", text=f"{said}; it is left alone"))
    return loop


def _peace(
    hosts: Iterable[HostState],
    sources: Iterable[StoredSource],
    lost: Container[int],
    now: float,
    rules: Rules,
) -> dict[str, float]:
    """Until when hosts are left alone: they said so, or one of their sources was just visited."""
    told = {host.host: host for host in hosts}
    until = {name: host.not_before for name, host in told.items() if host.not_before is not None}
    # Nobody may ask for more: a clock was ahead then. Who heard it has settled its own wait.
    astray = {name for name, at in until.items() if at > now + _LONGEST_WAIT}
    until.update(dict.fromkeys(astray, now))
    for source in sources:
        if source.host in astray and source.why_not == "Retry-After" and source.not_before:
            until[source.host] = max(until[source.host], source.not_before)
        last = now if source.row in lost else source.last_crawl
        if source.host and last is not None:
            asked = told[source.host].crawl_delay if source.host in told else None
            at = last + max(rules.host_spacing, asked or 0.0)
            until[source.host] = max(until.get(source.host, at), at)
    return {host: at for host, at in until.items() if at > now}


def _belief(
    sources: Sequence[StoredSource],
    make: Callable[[Fleet], Estimator] | None,
    budget: float,
    rules: Rules,
) -> Estimator:
    """What was learnt so far; what sources share is found anew from what is remembered of each."""
    fleet = fleet_of(_sound(source) for source in sources)
    belief = (
        LiveEstimator(fleet, budget=budget, least=rules.min_interval)
        if make is None
        else make(fleet)
    )
    for source in sources:
        if source.estimate is not None:
            belief.apply(source.estimate)
    if isinstance(belief, Refitting):
        belief.refit()
    return belief


def _sound(source: StoredSource) -> Listing:
    """The source, if its numbers make sense; of one that was removed they do not matter."""
    try:
        check_numbers(source)
    except BadInput as error:
        if source.state is State.REMOVED:
            return Listing(id=source.id, url=source.url, host=source.host)
        said = "import it again with --update, or remove it"
        raise BadInput(f"source {source.id!r}: {error}; {said}") from None
    return source


def _lost(source: StoredSource, now: float, rules: Rules) -> StoredSource:
    """A source that was being visited when the crawler died; perhaps it was asked just then."""
    state = source.state
    if source.lost + 1 >= _MOST_LOST and state is State.ACTIVE:
        state = State.QUARANTINED
    until, why = now + _least(source, rules), "lost visit"
    if source.not_before is not None and source.not_before > until:
        until, why = source.not_before, source.why_not
    return replace(source, lost=source.lost + 1, state=state, not_before=until, why_not=why)


def _settled(source: StoredSource, now: float, rules: Rules) -> StoredSource:
    """The source as it stands by the clock as it is now.

    A visit that lies in the future was noted by a clock that was ahead. It happened just now, as
    far as anybody knows, and the wait after it begins now.
    """
    last, until, paused = source.last_crawl, source.not_before, is_pause(source.why_not)
    if last is not None and last > now:
        if until is not None and not paused:
            until = now + max(until - last, 0.0)
        return replace(source, last_crawl=now, not_before=until)
    if until is None or paused:
        return source
    longest = now + max(_least(source, rules), 1.25 * rules.backoff_cap, _LONGEST_WAIT)
    return source if until <= longest else replace(source, not_before=longest)


def _least(source: StoredSource, rules: Rules) -> float:
    return rules.min_interval if source.min_interval is None else source.min_interval
