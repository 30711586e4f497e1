"""Pictures of experiments as SVG, drawn by matplotlib; the same figures give the same file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

MISSING: Final = "no pictures: matplotlib is not installed (`pip install 'whence[plot]'`)"
_MARKS: Final = "os^Dvx"


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over common places; a line that has fewer values ends early."""

    title: str
    below: str
    places: Sequence[float]
    lines: Mapping[str, Sequence[float]]
    dashed: tuple[str, ...] = ()


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

    count = len(picture.panels)
    with mpl.rc_context({"svg.hashsalt": "whence", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(1.2 + 2.9 * count, 3.2), layout="constrained")
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
            axis.set_ylim(bottom=0)
            axis.grid(visible=True, alpha=0.3)
            if picture.logarithmic:
                axis.set_xscale("log")
        axes[0].set_ylabel(picture.beside)
        axes[0].legend(fontsize=8)
        figure.savefig(path, format="svg", metadata={"Date": None})
