"""Pictures of results as SVG or PNG, drawn by matplotlib; the same figures give the same file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MISSING: Final = "no pictures: matplotlib is not installed (`pip install 'whence[plot]'`)"
_MARKS: Final = "os^Dvx"
_FEW: Final = 6
"""Places that can all be named below a panel."""
_MANY: Final = 30
"""Places too close for a mark at each."""
_ACROSS: Final = 4


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over common places; a line that has fewer values ends early."""

    title: str
    below: str
    places: Sequence[float]
    lines: Mapping[str, Sequence[float]]
    dashed: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """What stands at the places, if not their figures."""
    beside: str = ""
    """What is measured, where panels measure different things."""
    upright: str = "linear"
    """The scale of the upright axis of this panel, or "log"."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels side by side; they share their upright axis unless they measure different things."""

    beside: str
    panels: tuple[Panel, ...]
    logarithmic: bool = False
    """Whether places stand at the distances of their logarithms."""
    shared: bool = True


def available() -> bool:
    """Say whether pictures can be drawn."""
    return find_spec("matplotlib") is not None


def save(picture: Picture, path: Path) -> None:
    """Write a picture; the suffix of the file, .svg or .png, says as what."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    across = len(picture.panels) if picture.shared else min(len(picture.panels), _ACROSS)
    down = -(-len(picture.panels) // across)
    with mpl.rc_context({"svg.hashsalt": "whence", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(1.2 + 2.9 * across, 0.5 + 2.9 * down), layout="constrained")
        png = path.suffix == ".png"
        (FigureCanvasAgg if png else FigureCanvasSVG)(figure)
        grid = figure.subplots(down, across, sharey=picture.shared, squeeze=False)
        axes: list[Axes] = list(grid.flat)
        for axis, panel in zip(axes, picture.panels, strict=False):
            _draw(axis, panel, picture.logarithmic)
        for unused in axes[len(picture.panels) :]:
            unused.set_visible(False)
        if picture.shared:
            axes[0].set_ylim(bottom=0)  # of all, and only once all lines are there
            axes[0].set_ylabel(picture.beside)
        else:
            for axis, panel in zip(axes, picture.panels, strict=False):
                axis.set_ylabel(panel.beside)
                if panel.upright == "linear":
                    axis.set_ylim(bottom=0)
        known: dict[str, Any] = {}
        for axis in axes:
            for line, name in zip(*axis.get_legend_handles_labels(), strict=True):
                known.setdefault(name, line)
        figure.legend(
            list(known.values()),
            list(known),
            fontsize=8,
            ncols=2 if len(known) > 4 else 4,
            loc="outside lower center",
        )
        if png:
            figure.savefig(path, format="png", dpi=120, metadata={"Software": None})
        else:
            figure.savefig(path, format="svg", metadata={"Date": None})


def _draw(axis: Axes, panel: Panel, logarithmic: bool) -> None:
    """Draw the lines of one panel."""
    from matplotlib.ticker import NullLocator

    for i, (name, values) in enumerate(panel.lines.items()):
        style = "--" if name in panel.dashed else "-"
        places = list(panel.places)[: len(values)]
        # Lines that lie on each other must still be seen.
        width = 2.6 - 0.5 * min(i, 3)
        mark = _MARKS[i % 6] if len(places) <= _MANY else ""
        axis.plot(places, list(values), style, marker=mark, ms=4, lw=width, label=name)
    axis.set_title(panel.title, fontsize=9)
    axis.set_xlabel(panel.below)
    axis.grid(visible=True, alpha=0.3)
    axis.set_yscale(panel.upright)
    if logarithmic:
        axis.set_xscale("log")
        axis.xaxis.set_minor_locator(NullLocator())
    if len(panel.places) <= _FEW:
        names = panel.names or [f"{place:g}" for place in panel.places]
        axis.set_xticks(list(panel.places), names)
