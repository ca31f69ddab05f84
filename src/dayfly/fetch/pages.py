"""Where the items of a listing page are: CSS selectors that the operator gives.

`item` finds the parts of the page that are one item each. Within such a part `link`, `title` and
`date` find its fields; without them the first link, that link's text and the first `time` element
count. Selectors are checked here, when they are set. They are short and simple; what a hostile
page could make of them is limited by the cage in which pages are read (`cage.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dayfly.errors import BadInput, UnknownName

FIELDS = ("item", "link", "title", "date")
_LONGEST, _STEPS = 200, 6
#: What may stand in a selector: no function that looks around, no escapes.
_SIMPLE = re.compile(r"""[\w\s.#>+~,*^$|=:()\[\]"'/-]*""")
_FUNCTIONS = re.compile(r":(?!first-child|last-child|nth-child\(|first-of-type|last-of-type)[\w-]+")


def check_select(select: Mapping[str, str]) -> None:
    """Refuse selectors that cannot be used: raises `BadInput`.

    >>> check_select({"item": "li.story", "title": "h2"})
    >>> check_select({"title": "h2"})
    Traceback (most recent call last):
    dayfly.errors.BadInput: select needs a selector for 'item', the parts that are one item each
    """
    from selectolax.lexbor import LexborHTMLParser

    for name, selector in select.items():
        if name not in FIELDS:
            raise UnknownName("field of select", name, FIELDS)
        shown = selector[:60]
        if not selector.strip() or len(selector) > _LONGEST:
            raise BadInput(f"select {name}: a selector has 1 to {_LONGEST} characters")
        if not _SIMPLE.fullmatch(selector) or _FUNCTIONS.search(selector):
            raise BadInput(
                f"select {name}: {shown!r} is not simple; use names, classes, ids, attributes,"
                " first, last and nth children"
            )
        if len(re.findall(r"[\s>+~,]+", selector.strip())) >= _STEPS:
            raise BadInput(f"select {name}: {shown!r} has more than {_STEPS} steps")
        try:
            LexborHTMLParser("<p></p>").css(selector)
        except Exception:
            raise BadInput(f"select {name}: {shown!r} is not a CSS selector") from None
    if "item" not in select:
        raise BadInput("select needs a selector for 'item', the parts that are one item each")
