"""How figures look: one style, and SVG that takes on the colours of the page it stands in.

matplotlib is the optional part `figures`; it is imported when something is drawn.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dayfly.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours of Okabe and Ito, which stay apart for colour-blind eyes, and lines that differ too.
STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#0072b2", "linestyle": "-", "marker": "o"},
    {"color": "#d55e00", "linestyle": "--", "marker": "s"},
    {"color": "#009e73", "linestyle": "-.", "marker": "^"},
    {"color": "#cc79a7", "linestyle": ":", "marker": "D"},
)
#: Stand-ins in the SVG: the first becomes the page's text colour, the second a faint line.
INK, FAINT = "#010203", "#c8c9ca"

STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "dayfly",
}


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A figure ready for a page."""

    #: Name within the page, such as figure-2.
    name: str
    title: str
    caption: str
    #: An `<svg>` element that inherits font and colour.
    svg: str


def drawn(
    name: str,
    title: str,
    caption: str,
    draw: Callable[[Axes], None],
    *,
    size: tuple[float, float] = (7.4, 3.3),
) -> Drawn:
    """Draw on fresh axes."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("drawing figures", "figures") from None
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        out = io.StringIO()
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=metadata)
    return Drawn(name=name, title=title, caption=caption, svg=_inline(out.getvalue(), name, title))


def available() -> bool:
    """Whether figures can be drawn here."""
    import importlib.util

    return importlib.util.find_spec("matplotlib") is not None


def _inline(svg: str, name: str, title: str) -> str:
    """An SVG document as part of a page: own names, the page's font and colours, a label."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'\b(id=")', rf"\1{name}-", body)
    body = re.sub(r"(url\(#|href=\"#)", rf"\1{name}-", body)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"font-family: [^;\"]*;? ?", "", body)
    body = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", body)
    body = body.replace(INK, "currentColor").replace(FAINT, "var(--faint)")
    return re.sub(r"<svg ", f'<svg role="img" aria-label="{title}" ', body, count=1).rstrip()
