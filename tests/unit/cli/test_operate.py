"""The commands that look, on a database that nobody crawls from."""

import csv
import io
import json
import os
import time
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from dayfly.cli import cli
from dayfly.estimate import Estimate
from dayfly.model import Crawl, Item, Status
from dayfly.store import Listing, Record, SqliteStore
from dayfly.store.standing import after

HOUR = 3600.0
NASTY = "=1+1 <script>alert(1)</script> \x1b[31m]]>"


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*args, code=0):
        result = CliRunner().invoke(cli, list(args), prog_name="dayfly")
        assert result.exit_code == code, result.output
        return result.stdout if code == 0 else result.output

    return run


@pytest.fixture
def db(tmp_path):
    """Two sources with two items each, one of them the same; a third that fails."""
    now = time.time()
    store = SqliteStore(tmp_path / "dayfly.db")
    store.add(
        [
            Listing(id="one", url="https://one.example.org/", tags=("news",)),
            Listing(id="two", url="https://two.example.org/", verify_tls=False),
            Listing(id="three", url="https://three.example.org/"),
        ]
    )
    fence = store.own()
    for row, keys in ((0, "ab"), (1, "ac"), (2, "")):
        items = [
            Item(key=key, published=now - HOUR, title=NASTY, link=f"https://x.org/{key}")
            for key in keys
        ]
        status = Status.CHANGED if items else Status.FAILED
        crawl = Crawl(
            row=row, time=now - 60 + row, status=status, items=tuple(items), value=1.5 * len(items),
            reason="" if items else "http 503", title="Name of one" if row == 0 else "",
        )  # fmt: skip
        source = store.sources()[row]
        belief = Estimate(row=row, time=now, arrival=1e-4, decay=source.decay, worth=1.0)
        then = after(source, crawl, belief, now + 500, "back-off" if row == 2 else "cache")
        store.record([Record(crawl=crawl, source=then)], fence)
    store.close()
    return tmp_path / "dayfly.db"


pytestmark = pytest.mark.usefixtures("db")


def test_items_as_a_table(invoke):
    text = invoke("items")
    assert "4 items in 1d." in text
    assert "Name of one" in text
    assert "\x1b" not in text
    assert "3 items" in invoke("items", "--unique")
    assert "the newest 1 are shown" in invoke("items", "--limit", "1")
    assert "2 items" in invoke("items", "--tag", "news")
    assert "0 items in 1s." in invoke("items", "--since", "1s")


def test_items_for_programs(invoke):
    lines = [json.loads(line) for line in invoke("items", "--format", "jsonl").splitlines()]
    assert [line["key"] for line in lines] == ["a", "b", "a", "c"]
    assert [line["number"] for line in lines] == [1, 2, 3, 4]
    rows = list(csv.DictReader(io.StringIO(invoke("items", "--format", "csv", "--source", "two"))))
    assert [row["key"] for row in rows] == ["a", "c"]
    assert all(row["title"].startswith("'=1+1") for row in rows)
    root = ElementTree.fromstring(invoke("items", "--format", "atom", "--limit", "3"))
    assert len(root.findall("{http://www.w3.org/2005/Atom}entry")) == 3


def test_items_say_what_does_not_go_together(invoke):
    assert "--follow goes with" in invoke("items", "--follow", "--format", "atom", code=2)
    assert "without --follow" in invoke("items", "--follow", "--limit", "3", code=2)
    assert "unknown source" in invoke("items", "--source", "nobody", code=1)


@pytest.mark.parametrize("follow", [False, True], ids=["listed", "followed"])
def test_whoever_reads_slowly_holds_up_nobody(db, monkeypatch, follow):
    from dayfly.cli import items
    from dayfly.serve import taken

    monkeypatch.setattr(items, "_AT_ONCE", 1)
    read, printed = items._Look.read, []

    def slowly(look, since):
        look._query["limit"] = 1
        for item in read(look, since):
            with taken(db, patience=0.0):  # a crawler could start now
                printed.append(item["key"])
            yield item
        if follow:
            raise KeyboardInterrupt

    monkeypatch.setattr(items._Look, "read", slowly)
    more = ["--follow", "--since", "1d"] if follow else []
    result = CliRunner().invoke(cli, ["items", "--format", "jsonl", "--db", str(db), *more])
    assert result.exit_code == 0, result.output
    assert printed == ["a", "b", "a", "c"]
    assert len(result.stdout.splitlines()) == 4


def test_a_reader_who_falls_asleep_beside_a_crawler_gets_all_of_it(db, monkeypatch):
    import asyncio
    import threading
    import time

    from dayfly.cli import items
    from dayfly.serve import Office, StillHouse, owner, serving, taken

    monkeypatch.setattr(owner, "_SILENCE", 0.1)
    monkeypatch.setattr(items, "_AT_ONCE", 1)
    look = items._Look(db, {"limit": 1}, unique=False)
    ready, done = threading.Event(), threading.Event()

    async def answer():
        store = SqliteStore(db)
        async with serving(db, Office(StillHouse(store)).answer):
            ready.set()
            await asyncio.to_thread(done.wait)
        store.close()

    with taken(db, patience=0.0):
        crawler = threading.Thread(target=lambda: asyncio.run(answer()))
        crawler.start()
        ready.wait(10)
        try:
            keys = []
            for item in look.read(0.0):
                keys.append(item["key"])
                time.sleep(0.3)
        finally:
            done.set()
            crawler.join(20)
    assert (keys, look.beside) == (["a", "b", "a", "c"], True)


def test_stats(invoke):
    text = invoke("stats")
    assert "not running" in text
    assert "3 (3 active)" in text
    assert "1 do not answer:" in text
    assert "http 503" in text
    assert "not obeyed: tls" in text
    assert json.loads(invoke("stats", "--json"))["statuses"] == {"changed": 2, "failed": 1}


def test_explain_without_a_crawler(invoke):
    text = invoke("explain", "three")
    assert "no crawler runs here" in text
    assert "back-off, until" in text
    assert "1 in a row" in text
    document = json.loads(invoke("explain", "one", "--json"))
    assert (document["name"], document["decision"]) == ("Name of one", None)
    assert "did you mean 'three'" in invoke("explain", "thre3", code=1)


def test_refresh_needs_a_crawler(invoke):
    assert "start dayfly run" in invoke("refresh", "one", code=1)


def test_doctor_is_content_and_says_what_is_not_right(invoke, db):
    text = invoke("doctor")
    assert "integrity is clean" in text
    assert "Nothing is wrong." in text
    assert "1 sources whose robots.txt or certificates you ignore" in text
    document = json.loads(invoke("doctor", "--json"))
    assert document["wrong"] == 0
    broken = bytearray(db.read_bytes())
    broken[-4000:-3000] = os.urandom(1000)
    db.write_bytes(broken)
    text = invoke("doctor", code=1)
    assert "wrong" in text


def test_doctor_sees_credentials_that_others_can_read(invoke, db):
    store = SqliteStore(db)
    store.add([Listing(id="s", url="https://s.example.org/", headers=(("A", "tellnobody"),))])
    store.close()
    assert "permissions" not in invoke("doctor")
    db.chmod(0o644)
    text = invoke("doctor", code=1)
    assert "chmod 600" in text
    assert "tellnobody" not in text


def test_doctor_is_alarmed_where_there_is_no_database(invoke, db, tmp_path):
    (tmp_path / "dayfly.toml").write_text('db = "later.db"\n')
    assert f"{tmp_path}/later.db: is not there; name it with --db" in invoke("doctor", code=1)
    assert "none.db: is not there" in invoke("doctor", "--db", "none.db", code=1)
    (tmp_path / "dayfly.toml").unlink()
    invoke("doctor")
    db.unlink()
    assert "dayfly.db: is not there" in invoke("doctor", code=1)
    assert not db.exists()


def test_doctor_says_whether_a_crawler_runs_and_when_it_came_last(invoke, db):
    assert "ok      crawler      none runs; last visit: " in invoke("doctor")
    store, long_ago = SqliteStore(db), time.time() - 48 * HOUR
    store.change(replace(one, last_crawl=long_ago, not_before=None) for one in store.sources())
    store.close()
    text = invoke("doctor")
    assert "note    crawler      none runs; last visit: 2d ago; 3 sources may be visited" in text
    assert "Nothing is wrong." in text


def test_doctor_notes_that_nobody_is_crawled(invoke):
    invoke("sources", "pause", "one", "two", "three")
    assert "3, none of them active" in invoke("doctor")
    invoke("sources", "remove", "one", "two", "three")
    text = invoke("doctor")
    assert "note    sources" in text
    assert "none; dayfly sources add" in text
    assert "may be visited" not in text


def test_a_removed_source_is_called_so(invoke):
    invoke("sources", "remove", "one")
    assert "removed; dayfly sources add brings it back" in invoke("explain", "one")


def test_stats_speak_of_first_visits_only_where_they_were_counted(invoke, db):
    assert "before the first visits" in invoke("stats")
    store = SqliteStore(db)
    source = store.sources()[0]
    old = Crawl(row=0, time=time.time() - 72 * HOUR, status=Status.UNCHANGED)
    store.record([Record(crawl=old, source=source)], store.own())
    store.close()
    text = invoke("stats")
    assert "before the first visits" not in text
    assert "more than the estimates say was published" in text


def test_backup_and_restore(invoke, db, tmp_path):
    assert "complete" in invoke("backup", "copy.db")
    invoke("sources", "remove", "one")
    assert json.loads(invoke("sources", "list", "--json"))["n_sources"] == 2
    assert "What was there is" in invoke("restore", "copy.db")
    assert json.loads(invoke("sources", "list", "--json"))["n_sources"] == 3
    assert "restored" in invoke("restore", "copy.db", "--db", "new.db")
    (tmp_path / "rubbish").write_bytes(os.urandom(5000))
    invoke("restore", "rubbish", "--db", "other.db", code=1)
    assert not (tmp_path / "other.db").exists()
    invoke("restore", "nothing.db", "--db", "other.db", code=1)


def test_a_backup_replaces_an_earlier_one_and_nothing_else(invoke, db, tmp_path):
    (tmp_path / "b.db").touch()
    invoke("backup", "b.db")
    invoke("sources", "add", "https://later.example/")
    invoke("backup", "b.db")
    assert "later.example" in invoke("sources", "list", "--db", "b.db")
    (tmp_path / "letter.txt").write_text(
        "Dear all, this is no backup; please keep it as it is. " * 9
    )
    assert "no backup of Dayfly" in invoke("backup", "letter.txt", code=1)
    assert (tmp_path / "letter.txt").read_text().startswith("Dear all")
    assert "is a folder" in invoke("backup", ".", code=1)
    assert "is a folder" in invoke("restore", ".", code=1)
    assert "is the store itself" in invoke("backup", "dayfly.db", code=1)


def test_commands_leave_nothing_beside_the_database(invoke, db, tmp_path):
    before = {path.name for path in tmp_path.iterdir()}
    for command in ("stats", "items", "doctor", "explain one", "sources list"):
        invoke(*command.split())
    invoke("restore", "nothing.db", "--db", "other.db", code=1)
    assert {path.name for path in tmp_path.iterdir()} == before


def test_events_are_imported_from_csv(invoke, tmp_path):
    (tmp_path / "e.csv").write_text(
        "link,time,kind\nhttps://x.org/a,2026-11-16T10:30:00+01:00,click\nhttps://y.org/,1.5e9,vote\n"
    )
    text = invoke("events", "import", "e.csv")
    assert "2 new events, 0 known, 1 about items that are not stored." in text
    assert "They are 2 in the file: one whose item several sources have is of each." in text
    assert "20 are needed" in text
    assert json.loads(invoke("events", "import", "e.csv", "--json"))["known"] == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "line 1: needs the columns time"),
        ("link,when\n", "unknown column"),
        ("link,time\nx\n", "line 2: has 1 cells"),
        ("link,time\nx,noon\n", "line 2: not a time: 'noon'"),
        ("link,time\nx,2026-11-16T10:30:00\n", "has no time zone"),
        ("link,time\nx,1e99\n", "line 2: not a time"),
        ("link,time\n,5\n", "line 2: says neither link nor key"),
        ("link,time,amount\nx,5,lots\n", "amount is not a number"),
        ("link,time,amount\nx,5,-1\n", "amount must be positive"),
        (b"link,time\n\xff,5\n", "line 2: is not UTF-8"),
    ],
)
def test_a_broken_file_of_events_is_told_with_its_line(invoke, tmp_path, content, said):
    (tmp_path / "e.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert said in invoke("events", "import", "e.csv", code=1)


def test_a_missing_database_is_told(invoke):
    for command in (["items"], ["stats"], ["explain", "x"], ["backup", "f"], ["refresh", "x"]):
        text = invoke(*command, "--db", "none.db", code=1)
        assert "there is no such database" in text


def test_settings_that_cannot_be_read_are_told_even_where_they_are_not_needed(invoke, db, tmp_path):
    assert "nowhere.toml" in invoke(
        "stats", "--db", "dayfly.db", "--config", "nowhere.toml", code=1
    )
    invoke("stats", "--db", "dayfly.db", "--config", ".", code=1)


def test_what_was_read_when_the_crawler_ended_is_read_again(monkeypatch):
    """It was asked for in several answers, and the last of them never came."""
    from contextlib import contextmanager

    from dayfly.cli.items import _Look
    from dayfly.errors import StoreError

    answers = [
        {"items": [1, 2], "last": 2, "more": True}, StoreError("the crawler went away"),
        {"items": [1, 2], "last": 2, "more": True}, {"items": [3], "last": 3, "more": False},
    ]  # fmt: skip

    class Office:
        def ask(self, what, *, since, after, **query):
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

    @contextmanager
    def reach(db):
        yield Office()

    monkeypatch.setattr("dayfly.serve.reach", reach)
    look = _Look("d.db", {}, unique=False)
    with pytest.raises(StoreError):
        list(look.read(0.0))
    assert list(look.read(0.0)) == [1, 2, 3]
