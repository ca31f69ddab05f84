"""Bytes of any encoding as UTF-8."""

import pytest

from dayfly.fetch.charsets import _PIECE, as_utf8
from dayfly.fetch.gate import Unreadable

TEXT = "<a>é “”</a>"


def document(encoding: str, declared: str | None = None, text: str = TEXT) -> bytes:
    said = f' encoding="{encoding if declared is None else declared}"'
    return f'<?xml version="1.0"{said if declared != "" else ""}?>{text}'.encode(encoding)


@pytest.mark.parametrize(
    "body",
    [
        document("utf-8"), b"\xef\xbb\xbf" + document("utf-8"), document("utf-16"),
        document("utf-16-le"), document("utf-16-be"), document("utf-32"), document("utf-32-be"),
        document("windows-1252"), document("cp1252", "iso-8859-1"), document("cp1252", "latin1"),
        document("mac-roman"), document("utf-8", ""), document("utf-8", "us-ascii"),
        document("utf-8", "utf-16"), document("utf-8", "klingon"), document("utf-8", "utf-7"),
        document("utf-8", "cp037"), document("utf-8", "unicode_escape"),
    ],
)  # fmt: skip
def test_the_text_is_the_same_whatever_the_encoding(body):
    assert as_utf8(body).decode().endswith(TEXT)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("shift_jis", "日本"), ("euc-jp", "日本"), ("iso-2022-jp", "日本"), ("gb2312", "中国"),
        ("big5", "中國"), ("euc-kr", "한국"), ("koi8-r", "Привет"), ("windows-1251", "Привет"),
        ("iso-8859-7", "Γειά"), ("cp437", "é"), ("tis-620", "ไทย"), ("iso-8859-9", "ığ"),
    ],
)  # fmt: skip
def test_encodings_of_the_world(encoding, text):
    assert as_utf8(document(encoding, text=text)).decode().endswith(text)


def test_what_the_document_says_comes_before_the_header_unless_that_is_utf8_and_right():
    cyrillic = document("windows-1251", text="Привет")
    assert as_utf8(cyrillic, "text/xml; charset=iso-8859-1").decode().endswith("Привет")
    assert as_utf8(cyrillic, "text/xml; charset=utf-8").decode().endswith("Привет")
    lying = document("utf-8", "iso-8859-1")
    assert as_utf8(lying, 'text/xml; charset="UTF-8"').decode().endswith(TEXT)
    silent = document("windows-1251", "", text="Привет")
    assert as_utf8(silent, "text/xml; charset=windows-1251").decode().endswith("Привет")
    assert as_utf8(silent, "text/xml; charset=nonsense") == silent


def test_what_is_not_valid_becomes_a_replacement():
    assert as_utf8(document("utf-16") + b"\x00").decode().endswith("\ufffd")


@pytest.mark.parametrize("body", [b"", b"\0", b"\xff\xfe", b"\xfe", b"\xff\xfe\0\0x", b"\0\0\0"])
def test_scraps_raise_nothing(body):
    assert isinstance(as_utf8(body, "charset="), bytes)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-le", "gb18030", "shift_jis", "euc-kr"])
def test_characters_are_whole_wherever_a_long_body_is_cut(encoding):
    text = "x" + "一" * _PIECE
    body = document(encoding, text=text)
    assert len(body) > _PIECE
    assert as_utf8(body).decode().endswith(text)


def test_a_long_body_is_utf8_or_not_wherever_it_is_cut():
    lying = document("utf-8", "iso-8859-1", text="x" + "é" * _PIECE)
    for body, same in ((lying, True), (lying[:-1], False), (lying + b"\xff", False)):
        assert (as_utf8(body, "text/xml; charset=utf-8") == body) is same


def test_P06_a_body_that_grows_beyond_all_bounds_is_refused():
    mark = b"<?xml version='1.0' encoding='windows-1252'?>"
    assert len(as_utf8(mark + b"\x80" * (7 << 20))) > 21 << 20
    with pytest.raises(Unreadable, match="too large"):
        as_utf8(mark + b"\x80" * (8 << 20))
    assert len(as_utf8("x".encode("utf-16-le") * (10 << 20))) == 10 << 20
