"""Pictures of experiments as SVG, drawn by matplotlib; the same figures give the same file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

MISSING: Final = "no pictures: matplotlib is not installed (`pip install 'whence[plot]'`)"
_MARKS: Final = "os^Dvx"
_FEW: Final = 6
"""Places that can all be named below a panel."""


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


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels side by side that share their upright axis."""

    beside: str
    panels: tuple[Panel, ...]
    logarithmic: bool = False
    """Whether places stand at the distances of their logarithms."""


def available() -> bool:
    """Say whether pictures can be drawn."""
    return find_spec("matplotlib") is not None


def save(picture: Picture, path: Path) -> None:
    """Write a picture as SVG."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    count = len(picture.panels)
    with mpl.rc_context({"svg.hashsalt": "whence", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(1.2 + 2.9 * count, 3.4), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(1, count, sharey=True, squeeze=False)[0]
        for axis, panel in zip(axes, picture.panels, strict=True):
            for i, (name, values) in enumerate(panel.lines.items()):
                style = "--" if name in panel.dashed else "-"
                places = list(panel.places)[: len(values)]
                # Lines that lie on each other must still be seen.
                width = 2.6 - 0.5 * min(i, 3)
                axis.plot(
                    places, list(values), style, marker=_MARKS[i % 6], ms=4, lw=width, label=name
                )
            axis.set_title(panel.title, fontsize=9)
            axis.set_xlabel(panel.below)
            axis.grid(visible=True, alpha=0.3)
            if picture.logarithmic:
                axis.set_xscale("log")
                axis.xaxis.set_minor_locator(NullLocator())
            if len(panel.places) <= _FEW:
                names = panel.names or [f"{place:g}" for place in panel.places]
                axis.set_xticks(list(panel.places), names)
        axes[0].set_ylim(bottom=0)  # of all, and only once all lines are there
        axes[0].set_ylabel(picture.beside)
        lines, names = axes[0].get_legend_handles_labels()
        figure.legend(
            lines, names, fontsize=8, ncols=2 if len(names) > 4 else 4, loc="outside lower center"
        )
        figure.savefig(path, format="svg", metadata={"Date": None})
