"""The experiments on networks by name: each writes its figures into a folder."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from whence import plotting
from whence.diagnostics import Diagnostic, UsageError, nearest
from whence.network.experiments.base import Experiment, lines_of
from whence.network.experiments.listed import LISTED, named

Say = Callable[[str], None]


def find(name: str) -> tuple[str, Experiment]:
    """Return the experiment of a name or figure."""
    known = named(name)
    if known is None:
        near = nearest(name, LISTED)
        hint = f"did you mean `{near}`?" if near else "`whence net experiment` lists all"
        raise UsageError(Diagnostic("W1421", f"there is no experiment `{name}`", hint=hint))
    return known, LISTED[known]


def listing() -> Iterator[str]:
    """Yield a line for each experiment."""
    width = max(len(name) for name in LISTED)
    for name, one in LISTED.items():
        figures = f"figure {one.figures[0]}"
        if len(one.figures) > 1:
            figures = f"figures {one.figures[0]} to {one.figures[-1]}"
        yield f"{name:{width}}  {one.title} ({figures})"


def run(name: str, experiment: Experiment, out: Path, quick: bool, say: Say) -> Iterator[str]:
    """Measure, write NAME.json and NAME.png into a folder, and yield lines for people."""
    begun = time.perf_counter()
    found = {
        "experiment": name,
        "figures": list(experiment.figures),
        "quick": quick,
        **experiment.measure(quick, say),
    }
    found["measured_in_seconds"] = round(time.perf_counter() - begun, 1)
    path = out / f"{name}.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    yield from shown(name, experiment, found, out)


def redrawn(name: str, experiment: Experiment, out: Path) -> Iterator[str]:
    """Draw what a folder holds once more, without measuring."""
    path = out / f"{name}.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"`{path}` holds no figures of an earlier run: {error}"
        raise UsageError(Diagnostic("W1423", message)) from None
    yield from shown(name, experiment, found, out)


def shown(name: str, experiment: Experiment, found: dict[str, object], out: Path) -> Iterator[str]:
    """Draw the picture, and yield the table and what the paper says."""
    yield from lines_of(experiment.table(found))
    yield f"the paper: {experiment.claim}"
    if plotting.available():
        plotting.save(experiment.picture(found), out / f"{name}.png")
        yield f"wrote {out / f'{name}.json'} and {out / f'{name}.png'}"
    else:
        yield f"wrote {out / f'{name}.json'}; {plotting.MISSING}"
