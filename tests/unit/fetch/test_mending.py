"""Small faults, mended without a guess."""

import pytest

from dayfly.fetch.mending import mend


def test_bad_bytes_are_mended_one_by_one():
    assert mend(b" \n<a>caf\xe9 caf\xc3\xa9 \x93x\x94 \x0b\x00\x81</a>").decode() == (
        "<a>café café “x” \ufffd</a>"
    )
    assert mend("<a>\uffff</a>".encode()).decode() == "<a>\ufffd</a>"


@pytest.mark.parametrize(
    ("written", "mended"),
    [
        ("AT&T", "AT&amp;T"), ("a & b", "a &amp; b"), ("?a=1&b=2&amp;c=3", "?a=1&amp;b=2&amp;c=3"),
        ("?a&copy=1", "?a&amp;copy=1"), ("&copy; &nbsp;", "&#169; &#160;"), ("&foo;", "&amp;foo;"),
        ("&lt;&gt;&quot;&apos;", "&lt;&gt;&quot;&apos;"), ("&LT;", "&#60;"), ("&#0;", "\ufffd"),
        ("&#x1F;&#xD800;&#x110000;", "\ufffd" * 3), ("&#XE9;&#233;", "&#233;&#233;"),
        ("&", "&amp;"),
        ("&#;", "&amp;#;"), ("&#99999999999;", "&amp;#99999999999;"), ("&amp;nbsp;", "&amp;nbsp;"),
        ("<![CDATA[a & b &nbsp;]]> &", "<![CDATA[a & b &nbsp;]]> &amp;"),
        ("&<![CDATA[&]]>&<![CDATA[& open", "&amp;<![CDATA[&]]>&amp;<![CDATA[& open"),
    ],
)  # fmt: skip
def test_references_are_mended_outside_of_cdata(written, mended):
    assert mend(written.encode()).decode() == mended


def test_a_document_with_names_of_its_own_keeps_them():
    body = b'<!DOCTYPE a [<!ENTITY foo "x">]><a>&foo;</a>'
    assert mend(body) == body


def test_a_body_too_large_to_mend_stays_as_it_is():
    body = b" \xff" * (3 << 20)
    assert mend(body) is body


@pytest.mark.parametrize(
    "evil", [b"&" * 200_000, b"<![CDATA[" * 100_000, b"\xff" * 500_000, b"&nbsp" * 50_000]
)
def test_mending_takes_time_in_proportion(evil):
    mend(evil)


@pytest.mark.parametrize("text", ["&", "&amp;", "a&nbsp;", "&CounterClockwiseContourIntegral; x"])
def test_no_reference_is_cut_in_two_however_long_the_text_is(text):
    times = 200_000 // len(text)
    for before in range(len(text)):
        body = "x" * before + text * times
        assert mend(body.encode()) == b"x" * before + mend(text.encode()) * times
