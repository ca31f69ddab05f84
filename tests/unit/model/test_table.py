"""Fleets as CSV: exact both ways, and one clear sentence for every bad file."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dayfly.errors import BadInput
from dayfly.model import LONGEST_LINE, NUMBERS, Fleet, read_csv, table, write_csv


def read(text):
    return read_csv(io.StringIO(text), "fleet.csv")


def same(one, other):
    assert (one.id, one.host, one.kind) == (other.id, other.host, other.kind)
    for name in NUMBERS:
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


def test_units_are_read():
    fleet = read(
        "id,host,kind,arrival,half_life,worth,cost,lifetime,window\n"
        "bbc,bbc.co.uk,,40/day,6h,2.5,1,2 days,20\n"
        "blog,,ephemeral,20/15min,1h30m,,,,\n"
        "plain,,,0.25,90,0,0.5,60,1\n"
    )
    assert fleet.arrival.tolist() == [40 / 86400, 20 / 900, 0.25]
    assert fleet.decay.tolist() == [np.log(2) / t for t in (21600.0, 5400.0, 90.0)]
    assert fleet.worth.tolist() == [2.5, 1.0, 0.0]
    assert fleet.cost.tolist() == [1.0, 1.0, 0.5]
    assert fleet.lifetime.tolist() == [172800.0, np.inf, 60.0]
    assert fleet.window.tolist() == [20.0, np.inf, 1.0]
    assert fleet.host == ("bbc.co.uk", "", "")


def test_a_column_in_one_unit_reads_like_its_cells_one_by_one():
    cells = [f"{x}/day" for x in np.random.default_rng(1).lognormal(size=50).tolist()]
    together = read("arrival,decay\n" + "".join(f"{cell},1\n" for cell in cells)).arrival
    alone = [read(f"arrival,decay\n{cell},1\n7/h,1\n").arrival[0] for cell in cells]
    assert together.tolist() == alone


def test_two_phases_by_slow_half_life():
    fleet = read(
        "arrival,half_life,kind,slow_half_life,slow_share\n1,1h,two_phase,2d,0.3\n1,1h,,,\n"
    )
    assert fleet.slow_decay.tolist() == [np.log(2) / 172800, 0.0]
    assert fleet.slow_share.tolist() == [0.3, 0.0]
    assert fleet.kind == ("two_phase", "ephemeral")


def test_the_host_comes_from_the_url_where_it_is_missing():
    fleet = read(
        "url,arrival,decay\nhttps://WWW.Example.org:8080/feed?a=b,1,1\nexample.com/x,1,1\n"
    )
    assert fleet.host == ("www.example.org", "example.com")
    fleet = read("host,url,arrival,decay\nown.org,http://a.org/,1,1\n,http://b.org/,1,1\n,,1,1\n")
    assert fleet.host == ("own.org", "b.org", "")


def test_name_title_and_url_are_allowed_and_ignored():
    fleet = read('id,name,title,arrival,decay\na,Some,"Title, quoted ""so""",1,1\n')
    assert fleet.id == ("a",)


def test_byte_order_mark_crlf_blank_lines_and_spaces_are_tolerated():
    fleet = read_csv(
        ["\ufeffid, arrival ,decay\r\n", "\r\n", "a, 1 ,1h\r\n".replace("1h", "1"), "\r\n"]
    )
    assert (fleet.id, fleet.arrival.tolist()) == (("a",), [1.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "fleet.csv: is empty"),
        ("\n \n", "fleet.csv: is empty"),
        ("id,arrival,decay\n", "fleet.csv, line 1: there is a header, and no source below it"),
        ("id,arrival\na,1\n", "fleet.csv, line 1, column decay: is missing (or half_life)"),
        ("id,decay\na,1\n", "fleet.csv, line 1, column arrival: is missing"),
        ("id,id,arrival,decay\n", "fleet.csv, line 1, column id: is there twice"),
        ("arrival,decay,name,name\n", "fleet.csv, line 1, column name: is there twice"),
        ("arrival,decay,half_life\n", "line 1, column half_life: says the same as column decay"),
        (
            "arrival,decay,slow_decay,slow_half_life\n",
            "line 1, column slow_half_life: says the same as column slow_decay",
        ),
        ("id,arival,decay\n", "line 1: unknown column 'arival'; did you mean 'arrival'?"),
        ("# made by hand\nid,arrival,decay\n", "line 1: unknown column '# made by hand'"),
        ("id;arrival;decay\n", "line 1: cells must be separated by commas"),
        ("arrival,decay,\n", "line 1, column 3: has no name"),
        ("id,arrival,decay\na,1,2\nb,1\n", "line 3, column decay: there are 2 cells where"),
        (
            "id,arrival,decay\na,1,2\nb,1,3,4\n",
            "line 3: there are 4 cells where the header names 3",
        ),
        ("arrival,decay\nnan,1\n", "line 2, column arrival: must be a finite number, got nan"),
        ("arrival,decay\n1,inf\n", "line 2, column decay: must be a finite number, got inf"),
        ("arrival,decay\n1,1e999\n", "line 2, column decay: must be a finite number, got 1e999"),
        ("arrival,decay\n1,1\n1,-0.2\n", "line 3, column decay: must not be negative, got -0.2"),
        ("arrival,decay\n-4/day,1\n", "line 2, column arrival: must not be negative, got -4/day"),
        ("arrival,half_life\n1,0\n", "line 2, column half_life: must be positive, got 0"),
        ("arrival,half_life\n1,-6h\n", "line 2, column half_life: must be positive, got -6h"),
        (
            "arrival,half_life\n1,inf\n",
            "line 2, column half_life: must be a finite number, got inf",
        ),
        ("arrival,half_life\n1,1e-310\n", "line 2, column half_life: is too short, got 1e-310"),
        ("arrival,decay,cost\n1,1,0\n", "line 2, column cost: must be positive, got 0"),
        ("arrival,decay,lifetime\n1,1,0h\n", "line 2, column lifetime: must be positive, got 0h"),
        ("arrival,decay,window\n1,1,2.5\n", "column window: must be a whole number of at least 1"),
        ("arrival,decay,window\n1,1,0\n", "column window: must be a whole number of at least 1"),
        ("arrival,decay,slow_share\n1,1,1.5\n", "column slow_share: must lie between 0 and 1"),
        ("arrival,decay\n40/fortnight,1\n", "line 2, column arrival: not a rate: '40/fortnight'"),
        ("arrival,half_life\n1,soon\n", "line 2, column half_life: not a duration: 'soon'"),
        ("arrival,decay,worth\n1,1,much\n", "line 2, column worth: not a number: 'much'"),
        ("arrival,decay\n1,\n", "line 2, column decay: is empty and has no default"),
        ("arrival,decay,id\n1,1,\n", "line 2, column id: is empty"),
        ("arrival,decay,kind\n1,1,fresh\n", "line 2, column kind: unknown kind of source 'fresh'"),
        (
            "arrival,decay,kind,lifetime\n1,1,freshness,6h\n",
            "line 2, column lifetime: applies to ephemeral sources, this one is freshness",
        ),
        (
            "arrival,decay,slow_half_life\n1,1,6h\n",
            "line 2, column slow_half_life: applies to two_phase sources",
        ),
        (
            "id,arrival,decay\na,1,2\n\nb,1,2\na,3,4\n",
            "line 5, column id: 'a' was given on line 2 already",
        ),
        ("id,arrival,decay\na,1,1\nb\0,1,2\n", "line 3: contains a NUL byte"),
        ('id,arrival,decay\na,1,1\n"b,1,2\nc,1,2\n', "line 3: a quote is opened and not closed"),
        ('id,arrival,decay\na,1,1\n"b,1,2', "line 3: a quote is opened and not closed"),
        (
            'id,arrival,decay\na,1,1\n"b\nc",1,2\nd,1,2\n',
            "line 3: a quote is opened and not closed",
        ),
        ('id,arrival,decay\n"a"x,1,2\n', "line 2: is not CSV"),
        ('"id,arrival,decay\na,1,2\n', "line 1: a quote is opened and not closed"),
        ("url,arrival,decay\nhttp://[::1,1,1\n", "line 2, column url: has no host"),
        (
            "arrival,decay,worth\n1e200,1,1e200\n",
            "line 2, column arrival: times worth is too large",
        ),
        ("arrival,decay\n1,-1\n-1,1\n", "line 2, column decay"),  # the topmost fault is told
        ("arrival,decay,cost\n1,1,0\nx,1,1\n", "line 2, column cost"),
        ("arrival,decay\n1,1\n1,x\n1\n", "line 3, column decay"),
    ],
)
def test_a_bad_file_gets_one_sentence_with_file_line_and_column(text, message):
    with pytest.raises(BadInput) as caught:
        read(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("fleet.csv")
    assert "\n" not in str(caught.value)


def test_a_line_may_be_long_but_not_endless():
    fits = "a" * (LONGEST_LINE - 4) + ",1,1\r\n"
    assert len(read_csv(["id,arrival,decay\n", fits]).id[0]) == LONGEST_LINE - 4
    with pytest.raises(BadInput, match="line 2: is longer than 65536 characters"):
        read_csv(["id,arrival,decay\n", "a" + fits])


def test_a_hundred_megabytes_on_one_line_are_refused_shortly():
    with pytest.raises(BadInput) as caught:
        read_csv(["id,arrival,decay\n", "x" * 100_000_000])
    assert len(str(caught.value)) < 200


def test_a_long_bad_cell_is_shortened_in_the_message():
    with pytest.raises(BadInput) as caught:
        read(f"arrival,decay\n{'9' * 5000}x,1\n")
    assert len(str(caught.value)) < 250


def test_faults_are_found_in_every_block(monkeypatch):
    monkeypatch.setattr(table, "_BLOCK", 7)
    lines = ["id,arrival,decay\n", *(f"s{i},1,{i}\n" for i in range(50))]
    assert read_csv(lines).decay.tolist() == list(range(50))
    for row in (0, 5, 6, 7, 13, 49):
        broken = lines.copy()
        broken[row + 1] = f"s{row},1,-1\n"
        with pytest.raises(BadInput, match=f"line {row + 2}, column decay"):
            read_csv(broken)
        broken[row + 1] = "s0,1,1\n" if row else "s49,1,1\n"
        first, second = sorted([row + 2, 2 if row else 51])
        with pytest.raises(BadInput, match=f"line {second}, .* given on line {first} already"):
            read_csv(broken)
        broken[row + 1] = f'"s{row},1,1\n'
        with pytest.raises(BadInput, match=f"line {row + 2}: a quote"):
            read_csv(broken)
        broken[row + 1] = f'"s{row}\n'
        broken.insert(row + 2, '",1,1\n')
        with pytest.raises(BadInput, match=f"line {row + 2}: a quote"):
            read_csv(broken)


def test_columns_at_their_default_are_left_out():
    text = "".join(write_csv(Fleet(arrival=[1.0, 2.0], decay=0.1)))
    assert text == "arrival,decay\n1.0,0.1\n2.0,0.1\n"


def test_no_limit_is_an_empty_cell():
    text = "".join(write_csv(Fleet(arrival=1.0, decay=0.1, window=[5, np.inf])))
    assert text == "arrival,decay,window\n1.0,0.1,5.0\n1.0,0.1,\n"


def test_what_cannot_be_read_back_is_not_written():
    for bad in ("two\nlines", "re\rturn", "nul\0", " "):
        with pytest.raises(BadInput, match="cannot be written as CSV"):
            list(write_csv(Fleet(arrival=1.0, decay=1.0, id=[bad])))


words = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\n\r\0"), max_size=8
)
finite = st.floats(0, 1e100)
ephemeral = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["ephemeral"]),
        "lifetime": st.just(np.inf) | st.floats(1e-3, 1e9),
        "window": st.just(np.inf) | st.integers(1, 10**6).map(float),
        "slow_decay": st.just(0.0),
        "slow_share": st.just(0.0),
    }
)
other = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["two_phase"]),
        "lifetime": st.just(np.inf),
        "window": st.just(np.inf),
        "slow_decay": finite,
        "slow_share": st.floats(0, 1),
    }
)
common = st.fixed_dictionaries(
    {
        "id": words.filter(str.strip),
        "host": words,
        "arrival": finite,
        "decay": finite,
        "worth": finite,
        "cost": st.floats(1e-100, 1e100),
    }
)
rows = st.lists(
    st.tuples(common, ephemeral | other), min_size=1, max_size=6, unique_by=lambda row: row[0]["id"]
)


@given(rows)
@settings(max_examples=150, deadline=None)
def test_the_round_trip_is_exact(rows):
    merged = [{**one, **two} for one, two in rows]
    fleet = Fleet(**{name: [row[name] for row in merged] for name in merged[0]})
    same(read_csv(write_csv(fleet)), fleet)


def test_the_round_trip_of_a_long_fleet_is_exact():
    seed = 5
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    n = 10_000
    fleet = Fleet(
        arrival=rng.lognormal(size=n),
        decay=rng.lognormal(-9, 3, size=n),
        window=np.where(rng.random(n) < 0.5, np.inf, rng.integers(1, 99, n)),
        host=[f"h{i % 77}.org" for i in range(n)],
    )
    same(read_csv(write_csv(fleet)), fleet)
    part = fleet.take(rng.permutation(n)[:100])
    same(read_csv(write_csv(part)), part)


@given(st.text(max_size=60) | st.text('",\n\r 01.-eh/nandyif#', max_size=60))
@settings(max_examples=200, deadline=None)
def test_whatever_is_below_the_header_makes_a_fleet_or_one_error(text):
    header, message = "arrival,decay,window\n", ""
    try:
        assert np.isfinite(read(header + text).arrival).all()
    except BadInput as error:
        message = str(error)
    assert "\n" not in message
