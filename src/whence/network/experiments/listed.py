"""All experiments on networks, by name; each can also be found by the number of its figures."""

from __future__ import annotations

from typing import Final

from whence.network.experiments import (
    aggregates,
    bursts,
    chord,
    churn,
    growth,
    mesh,
    path_vector,
    queries,
    reachability,
    regions,
    selections,
    sharing,
)
from whence.network.experiments.base import Experiment

LISTED: Final[dict[str, Experiment]] = {
    # Liu, Taylor, Zhou, Ives and Loo: recursive views with provenance
    "reachable-insert": reachability.INSERTIONS,
    "reachable-delete": reachability.DELETIONS,
    "regions-insert": regions.COMING,
    "regions-delete": regions.GOING,
    "links-insert": growth.LINKS,
    "links-delete": growth.FEWER,
    "processors": growth.PROCESSORS,
    "aggregates": aggregates.EXPERIMENT,
    # Loo: declarative networks
    "path-vector": path_vector.EXPERIMENT,
    "bursts": bursts.EXPERIMENT,
    "mesh": mesh.EXPERIMENT,
    "chord": chord.EXPERIMENT,
    "churn": churn.EXPERIMENT,
    "selections": selections.EXPERIMENT,
    "queries": queries.EXPERIMENT,
    "sharing": sharing.EXPERIMENT,
}


def named(name: str) -> str | None:
    """Return the experiment of a name or of the number of a figure, such as `figure7.2`."""
    if name in LISTED:
        return name
    number = name.lower().removeprefix("figure").strip()
    return next((known for known, one in LISTED.items() if number in one.figures), None)
