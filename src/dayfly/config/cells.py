"""Cells of a CSV file that people open in a spreadsheet: text stays text."""

from __future__ import annotations

import re

#: What some program takes for the beginning of a formula, also after spaces and in full width. A
#: leading apostrophe is marked as well, so that the mark can be taken off again without doubt.
_FORMULA = re.compile(r"[\s\0]*[=+\-@＝＋－＠]|[\t\r\n\0']")


def harmless(text: str) -> str:
    """The text for a cell; what a spreadsheet would run gets an apostrophe before it.

    >>> harmless("=cmd|' /C calc'!A0"), harmless("plain - text"), harmless("'tis")
    ("'=cmd|' /C calc'!A0", 'plain - text', "''tis")
    """
    return "'" + text if _FORMULA.match(text) else text


def bare(cell: str) -> str:
    """The text that `harmless` made the cell of.

    >>> [bare(harmless(text)) for text in ("=1+1", "'=1", "x", "'")]
    ['=1+1', "'=1", 'x', "'"]
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell
