"""The passes over NDlog programs, in the order they run, and what they may be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from whence.network.rewrite.aggregate_selections import aggregate_selections, found_selections
from whence.network.rewrite.cache_results import cache_results
from whence.network.rewrite.hybrid_search import cannot, hybrid_search, zone_routing
from whence.network.rewrite.localize import localize
from whence.network.rewrite.magic_sets import bound_by, from_destination, from_source
from whence.network.rewrite.options import Direction, Options
from whence.network.rewrite.reorder import reorder
from whence.network.rewrite.search import Search, find_search
from whence.network.rewrite.share_messages import share_messages
from whence.syntax.nodes import Program


@dataclass(slots=True)
class _State:
    options: Options
    written: Program
    search: Search | None = None
    notes: list[str] = field(default_factory=list)


Pass: TypeAlias = Callable[[Program, _State], Program]


def _reorder(program: Program, state: _State) -> Program:
    search = state.search = find_search(program, state.options.search, state.options.later)
    state.notes.extend(search.notes)
    return reorder(program, search.moved) if search.moved and search.turned else program


def _magic_sets(program: Program, state: _State) -> Program:
    search = state.search or find_search(program, "as written", state.options.later)
    if search.moved is None or search.bound is None:
        return program
    magic = from_source if search.turned else from_destination
    return magic(program, search.moved, search.bound)


def _cache_results(program: Program, state: _State) -> Program:
    seconds, search = state.options.cache, state.search
    if seconds is None or search is None or search.moved is None:
        return program
    found = cache_results(state.written, search.moved, seconds)
    if isinstance(found, str):
        state.notes.append(found)
        return program
    return found


def _hybrid_search(program: Program, state: _State) -> Program:
    options, search = state.options, state.search
    if options.search not in ("hybrid", "zone") or search is None or search.moved is None:
        return program
    moved, name = search.moved, search.moved.paths.relation
    suggested = found_selections(state.written).chosen
    best = next((one for one in suggested if one.relation == name), None)
    bound = search.bound or bound_by(state.written, moved, later=True)
    found: Program | str = cannot(moved, best)
    if best is not None and not found:
        if options.search == "hybrid":
            found = hybrid_search(state.written, moved, bound, options.radius, best)
        else:
            found = zone_routing(state.written, moved, bound, options.radius[0], best)
    if isinstance(found, str):
        state.notes.append(found)
        return program
    return found


def _aggregate_selections(program: Program, state: _State) -> Program:
    state.notes.extend(f"not {one}: {why}" for one, why in found_selections(program).refused)
    return aggregate_selections(program, period=state.options.period)


def _share_messages(program: Program, state: _State) -> Program:
    return program if state.options.share is None else share_messages(program)


def _localize(program: Program, state: _State) -> Program:
    options = state.options
    return localize(program, backward=options.backward, windows=options.windows)


PASSES: Final[tuple[tuple[str, Pass], ...]] = (
    ("reorder", _reorder),  # first: it knows the rules as they were written
    ("magic_sets", _magic_sets),  # filters stand where the search begins and ends
    ("hybrid_search", _hybrid_search),  # other ways to search, in place of these
    ("cache_results", _cache_results),
    ("aggregate_selections", _aggregate_selections),  # on the relations that will be sent
    ("share_messages", _share_messages),  # selections say which column is the metric
    ("localize", _localize),  # last: whatever was added may span several nodes
)

NAMES: Final = tuple(name for name, _ in PASSES)


@dataclass(frozen=True, slots=True)
class Step:
    """A program after a pass, and what the pass has to say."""

    name: str
    program: Program
    notes: tuple[str, ...] = ()


def run_passes(program: Program, options: Options | None = None) -> tuple[Step, ...]:
    """Return the program after each pass that runs."""
    state = _State(options or Options(), program)
    steps = []
    for name, run in PASSES:
        if name in state.options.without:
            continue
        state.notes = []
        program = run(program, state)
        steps.append(Step(name, program, tuple(state.notes)))
    return tuple(steps)


def prepare(program: Program, options: Options | None = None) -> Program:
    """Return the program as nodes run it: after all passes.

    >>> from whence.syntax.ndlog import parse_ndlog
    >>> print(prepare(parse_ndlog('''
    ... fullyConnected.
    ... materialize(link, infinity, infinity, keys(1,2)).
    ... materialize(reachable, infinity, infinity, keys(1,2)).
    ... reachable(@S,D) :- link(@S,Z), reachable(@Z,D).
    ... ''')))
    fullyConnected.
    <BLANKLINE>
    materialize(link, infinity, infinity, keys(1, 2)).
    materialize(reachable, infinity, infinity, keys(1, 2)).
    materialize(linkD, infinity, infinity, keys()).
    <BLANKLINE>
    linkD(S, @Z) :- link(@S, Z).
    reachable(@S, D) :- linkD(S, @Z), reachable(@Z, D).
    """
    steps = run_passes(program, options)
    return steps[-1].program if steps else program


__all__ = ["NAMES", "PASSES", "Direction", "Options", "Step", "prepare", "run_passes"]
