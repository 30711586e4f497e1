"""From where the walks of a query are searched: from the source or from the destination."""

from __future__ import annotations

from dataclasses import dataclass

from whence.network.rewrite.magic_sets import Bound, bound_by
from whence.network.rewrite.moved import Moved, find_moved
from whence.network.rewrite.paths import find_paths
from whence.network.rewrite.places import fully_connected
from whence.syntax.nodes import Program


@dataclass(frozen=True, slots=True)
class Search:
    """The walks that a query asks for, the ends it names, and whether to turn the search round."""

    moved: Moved | None
    bound: Bound | None
    turned: bool
    notes: tuple[str, ...] = ()


def find_search(program: Program, direction: str, later: bool) -> Search:
    """Return how to search for what the query of a program asks.

    Left to itself (`auto`), a search begins at the source if the query names one.
    """
    notes: list[str] = []
    for query in program.queries:
        for paths in find_paths(program):
            moved = find_moved(program, paths, query.atom.relation)
            if isinstance(moved, str):
                notes.append(moved)
                continue
            bound = bound_by(program, moved, later=later)
            named = bool(bound.by_source or bound.by_destination)
            wanted = direction == "from source" or (direction == "auto" and bound.by_source)
            path = moved.columns[moved.asked].path
            if wanted and path is None and not fully_connected(program):
                notes.append(f"`{moved.asked}` has no path along which it could be sent back")
                wanted = False
            return Search(moved, bound if named else None, bool(wanted), tuple(notes))
    return Search(None, None, False, tuple(notes))
