"""`dayfly run`: crawl, for as long as it is wanted."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dayfly.cli import database, options
from dayfly.cli.garbage import rare_collections
from dayfly.cli.output import printable
from dayfly.errors import BadInput, ClockSetBack

if TYPE_CHECKING:
    from dayfly.config.settings import Settings
    from dayfly.serve.crawler import Run
    from dayfly.store import Listing

#: Problems told one by one.
_TOLD = 20


def _allowed(_ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]) -> Any:
    """Addresses that the guard can read."""
    from dayfly.fetch import Guard

    try:
        Guard(given)
    except BadInput as error:
        raise click.BadParameter(str(error)) from None
    return given


def _contact(_ctx: click.Context, _param: click.Parameter, given: str | None) -> str | None:
    """Something that sites can turn to."""
    from dayfly.serve.indoors import check_contact

    try:
        return None if given is None else check_contact(given)
    except BadInput as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.argument("sources", required=False)
@click.option("--budget", type=options.rate, help="Visits per time, in cost units: 60/min.")
@database.db_option
@click.option(
    "--half-life", type=options.duration, metavar="TIME",
    help="An item loses half its worth in: 6h. For sources that are new and say nothing else.",
)  # fmt: skip
@click.option("--for", "seconds", type=options.duration, metavar="TIME", help="End after: 10m.")
@click.option("--once", is_flag=True, help="Visit each source that is due now once, and end.")
@click.option("--dry-run", is_flag=True, help="Show the next hour, and why; visit nobody.")
@click.option(
    "--allow", multiple=True, metavar="CIDR:PORT", callback=_allowed,
    help="Visit these addresses though they are not public: 127.0.0.2/32:8080. Repeatable.",
)  # fmt: skip
@click.option(
    "--contact", metavar="URL", callback=_contact,
    help="Page or mail address for those who are visited.",
)  # fmt: skip
@click.option(
    "--log", type=click.Choice(["text", "json"]),
    help="A line per event.  [default: a live view on a terminal, else text]",
)  # fmt: skip
@options.json_option
@database.config_option
def run(
    sources: str | None,
    budget: options.Budget | None,
    db: str | None,
    half_life: float | None,
    seconds: float | None,
    once: bool,
    dry_run: bool,
    allow: tuple[str, ...],
    contact: str | None,
    log: str | None,
    as_json: bool,
    config: str | None,
) -> None:
    """Crawl SOURCES and whatever the database has, within a budget, until Ctrl-C.

    SOURCES is OPML, a text file of addresses, CSV or TOML; its sources are added to the database,
    where those of earlier runs are. Ctrl-C, SIGTERM or SIGHUP ends within ten seconds and loses
    nothing; a second Ctrl-C ends at once and loses nothing either, but visits under way are made
    again.
    """
    if as_json and not dry_run:
        raise click.UsageError("--json goes with --dry-run; --log json has a line per event")
    settings = database.settings_of(config)
    if budget is None and settings.budget:
        budget = options.rate(settings.budget)
    if budget is None:
        raise click.UsageError("how much may be crawled? Give --budget 60/min")
    if not budget.per_s > 0:
        raise click.UsageError("a budget of nothing visits nobody; give --budget 60/min, say")
    if half_life is not None:
        settings = _with(settings, half_life=half_life)
    listings = _Listed(sources, settings, config or database.USUAL)
    asked = _asked(settings, budget, db, allow, contact)
    asked = replace(asked, brief=once or seconds is not None)
    if dry_run:
        _rehearse(asked, listings, as_json)
        return
    form = log or (None if sys.stdout.isatty() else settings.log)
    code = asyncio.run(_crawl(asked, listings, budget, form, seconds, once))
    if code:
        raise click.exceptions.Exit(code)


def _with(settings: Settings, **values: Any) -> Settings:
    from msgspec.structs import replace as replaced

    return replaced(settings, **values)


class _Listed:
    """The sources that a list and the settings, read from `config`, name."""

    def __init__(self, path: str | None, settings: Settings, config: str) -> None:
        from dayfly.config.lists import listings_of, read_sources

        self._settings = settings
        self._own = listings_of(settings, config)
        self.all: list[Listing] = list(self._own)
        if path is not None:
            found = read_sources(path, settings=settings)
            for problem in found.problems[:_TOLD]:
                click.echo(f"dayfly: left out: {printable(problem)}", err=True)
            if len(found.problems) > _TOLD:
                more = len(found.problems) - _TOLD
                click.echo(f"dayfly: … and {more:,} more; dayfly sources import --json", err=True)
            if not found.listings:
                raise BadInput(f"{path}: has no sources that could be used")
            self.all += found.listings

    def put_into(self, office: Any) -> int:
        """Take them in; how many are new.

        Known ones of a list stay as they are. Those of the settings follow the settings, which are
        the operator's last word, also where they fall silent; but for a guess at the rate, and for
        a half-life or a worth that is not the source's own: both may have been learnt better since.
        """
        from dayfly.serve.vocabulary import plain_listing
        from dayfly.store import Listing

        answer = office.ask("sources.add", sources=[plain_listing(one) for one in self.all])
        shared = {
            "decay": math.log(2) / self._settings.half_life,
            "worth": Listing(id="-", url="-").worth,
        }
        own = [plain_listing(one) for one in self._own]
        for said in own:
            del said["arrival"]
            for name, value in shared.items():
                if said[name] == value:
                    del said[name]
        office.ask("sources.add", sources=own, follow=True)
        self._readdress(office, answer["rows"])
        return int(answer["added"])

    def _readdress(self, office: Any, rows: Sequence[int]) -> None:
        """Sources with an id of their own go where the settings say.

        One that is called by its address has moved since if it is elsewhere; so has one that is
        only spoken to with encryption now.
        """
        from dayfly.config.addresses import read_address

        for one, row in zip(self._own, rows, strict=False):
            there = office.house.sources()[row].url
            other = there.partition("://")[2] != one.url.partition("://")[2]
            if other and read_address(one.url).id != one.id:
                office.ask("sources.change", source=one.id, url=one.url)


def _asked(
    settings: Settings,
    budget: options.Budget,
    db: str | None,
    allow: tuple[str, ...],
    contact: str | None,
) -> Run:
    from dayfly.schedule import Rules
    from dayfly.serve.crawler import Run

    asked = Run(
        db=Path(db if db is not None else settings.db),
        budget=budget.per_s,
        rules=Rules(
            min_interval=settings.min_interval,
            cache_cap=settings.cache_cap,
            host_spacing=settings.host_spacing,
        ),
        allow=(*settings.allow, *allow),
        contact=settings.contact if contact is None else contact,
        keep_items=settings.keep_items,
        keep_visits=settings.keep_visits,
        webhook=str(settings.webhook),
    )
    if settings.max_interval is not None:
        asked = replace(asked, max_interval=settings.max_interval)
    if settings.parallel is not None:
        asked = replace(asked, parallel=settings.parallel)
    return asked


async def _crawl(
    asked: Run,
    listings: _Listed,
    budget: options.Budget,
    form: str | None,
    seconds: float | None,
    once: bool,
) -> int:
    """Own the database, take the sources in, crawl; the exit code."""
    import time

    from dayfly.cli.watching import Watch, run_watched
    from dayfly.serve import Office, StillHouse, taken
    from dayfly.serve.crawler import Admission, crawling
    from dayfly.serve.house import active
    from dayfly.store import SqliteStore, place_warning, version_warning

    empty = f"{asked.db}: has no sources to crawl; name a file with some, or dayfly sources add"
    admission = Admission(asked)
    for listing in listings.all:
        admission.check(listing)
    if not listings.all and not asked.db.exists():
        raise BadInput(empty)
    with taken(asked.db):
        store = SqliteStore(asked.db)
        try:
            added = listings.put_into(Office(StillHouse(store)))
            n = len(active(store.sources()))
            if not n:
                raise BadInput(empty)
            end = math.inf if seconds is None else time.monotonic() + seconds
            odd = ""
            while True:
                told = Watch(form)
                try:
                    async with crawling(asked, store, told.tell, told.alarm) as loop:
                        told.begin(loop, _title(asked, budget, n, added), budget, n, added)
                        for warning in filter(None, (version_warning(), place_warning(asked.db))):
                            told.warn(warning)
                        if odd:
                            told.alarm(odd)
                        until = loop.clock.now() + end - time.monotonic()
                        with rare_collections():
                            await run_watched(loop, told, until, once)
                        return told.end(loop)
                except ClockSetBack as error:
                    if told.asked_to_stop:
                        return told.end(loop)
                    # All that was seen is stored; what lies in the future is read as just now.
                    odd, added = str(error), 0
        finally:
            store.close()


def _title(asked: Run, budget: options.Budget, n: int, new: int) -> str:
    added = f", {new:,} new" if new else ""
    return f"dayfly · {n:,} sources{added} · {budget.text} · {asked.db} · Ctrl-C ends"


def _rehearse(asked: Run, listings: _Listed, as_json: bool) -> None:
    """What would be crawled in the next hour; nothing is written and nobody visited."""
    from dayfly.cli.output import print_json
    from dayfly.cli.rehearsed import print_plan
    from dayfly.serve import Office, StillHouse, reach
    from dayfly.serve.crawler import Admission
    from dayfly.serve.house import active
    from dayfly.store import MemoryStore

    def on(house: StillHouse) -> dict[str, Any]:
        office = Office(house)
        listings.put_into(office)
        answer: dict[str, Any] = office.ask("plan", seconds=3600.0, budget_per_s=asked.budget)
        return answer

    if not asked.db.exists():
        answer = on(StillHouse(MemoryStore(), rules=asked.rules))
    else:
        with reach(asked.db) as office:
            if isinstance(office, Office) and isinstance(office.house, StillHouse):
                house = office.house
                crawled = active(house.sources())
                changed = Admission(asked).let_in(crawled, asked.rules.min_interval)
                answer = on(house.twin(asked.rules, changed))
            else:  # a crawler runs, and tells its own next hour
                answer = office.ask("plan", seconds=3600.0, budget_per_s=asked.budget)
    if as_json:
        print_json(answer)
    else:
        print_plan(answer)
