"""What a run of a network is asked for: program, topology, facts, and what is to be shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from whence.analysis.ndlog.check import check_ndlog
from whence.analysis.ndlog.links import one_way_links
from whence.diagnostics import (
    DataError,
    Diagnostic,
    ProgramError,
    UsageError,
    nearest,
    raise_errors,
)
from whence.network.model import Row, Value
from whence.network.program import Kind, NodeProgram, node_program
from whence.network.protocols.library import PROTOCOLS, protocol_path
from whence.network.real import fitting_ship
from whence.network.rewrite.passes import Options, prepare
from whence.network.schemes import scheme_for
from whence.network.strands.planner import constant
from whence.network.topology.edge_list import as_facts
from whence.network.topology.model import Topology
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Program, Term

Facts = dict[str, list[Row]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A program with where it came from, and what is wrong but does not stop it."""

    path: Path
    program: Program
    warnings: tuple[Diagnostic, ...]


def read_program(given: str) -> Asked:
    """Read a program: a file, or the name of a protocol of the library."""
    path = Path(given)
    if not path.suffix and not path.exists() and (given in PROTOCOLS or "/" not in given):
        path = protocol_path(given)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(Diagnostic("W1415", f"`{path}` is not text in UTF-8")) from None
    program = parse_ndlog(text, str(path), folder=path.parent)
    found = check_ndlog(program)
    raise_errors(found)
    return Asked(path, program, tuple(d for d in found if d.severity == "warning"))


def read_facts(path: Path) -> Facts:
    """Read facts, written as in a program."""
    program = parse_ndlog(path.read_text(encoding="utf-8"), str(path), folder=path.parent)
    found: Facts = {}
    for rule in program.rules:
        if rule.body:
            message = "a file of facts has a rule"
            raise DataError(Diagnostic("W1416", message, rule.span, "this has a body"))
        for head in rule.heads:
            found.setdefault(head.relation, []).append(tuple(constant(arg) for arg in head.args))
    return found


def chosen_ship(ship: str, scheme: str, program: Program, options: Options) -> str:
    """Return how tuples leave nodes that keep them exact by a scheme."""
    return fitting_ship(ship, scheme_for(node_program(prepare(program, options)), scheme)())


def topology_facts(topology: Topology, program: NodeProgram, links: str) -> Facts:
    """Return the links of a topology, and its sensors, as far as the program knows such relations.

    A relation of two columns has no costs.
    """
    found: Facts = {}
    for relation, rows in as_facts(topology, links).items():
        plan = program.relations.get(relation)
        if plan is not None and plan.kind is not Kind.VIEW and plan.arity in (2, 3):
            found[relation] = [row[: plan.arity] for row in rows]  # type: ignore[misc]
    return found


def one_way(topology: Topology, program: Program, links: str) -> list[Diagnostic]:
    """Return a warning where answers have to go back along links that lead one way only."""
    rows = [(arc.source, arc.target) for arc in topology.arcs()]
    found = list(one_way_links(program, {links: rows}))
    if not found:
        return []
    _, (source, target, *_), rule = found[0]
    message = (
        f"{len(found):,} links lead one way only, such as `{source}` to `{target}`, and rule "
        f"`{rule.name}` sends back along them: its answers will be missing"
    )
    hint = "give links both ways, or declare `fullyConnected.`"
    return [Diagnostic("W1427", message, rule.span, hint=hint, severity="warning")]


def check_facts(facts: Facts, program: NodeProgram, topology: Topology) -> None:
    """Raise a mistake for facts that no relation has room for, or that are at no node."""
    for relation, rows in facts.items():
        plan = program.relations.get(relation)
        if plan is None:
            raise DataError(Diagnostic("W1364", f"the program has no relation `{relation}`"))
        for row in rows:
            if len(row) != plan.arity or row[plan.shape.location] not in topology.nodes:
                message = f"a fact of `{relation}` has other columns, or is at no node: {row}"
                raise DataError(Diagnostic("W1416", message))


def asked_for(program: Program, relation: str, rows: Iterable[Row]) -> set[Row]:
    """Return the rows that the queries of a program are about: those with the values they name."""
    wanted = [
        {at: value for at, arg in enumerate(query.atom.args) if (value := _known(arg)) is not None}
        for query in program.queries
        if query.atom.relation == relation
    ]
    if not wanted or {} in wanted:
        return set(rows)
    return {
        row for row in rows if any(all(row[at] == v for at, v in one.items()) for one in wanted)
    }


def _known(term: Term) -> Value | None:
    try:
        return constant(term)
    except ProgramError:  # a variable
        return None


def shown_relations(program: NodeProgram, wanted: Iterable[str]) -> tuple[str, ...]:
    """Return what is shown: what is wanted, else queries, else what is watched, else views."""
    chosen = tuple(wanted)
    for relation in chosen:
        if relation not in program.relations:
            near = nearest(relation, program.relations)
            hint = f"did you mean `{near}`?" if near else ""
            message = f"the program has no relation `{relation}`"
            raise UsageError(Diagnostic("W1417", message, hint=hint))
    queries = dict.fromkeys(query.atom.relation for query in program.source.queries)
    known = tuple(name for name in queries if name in program.relations)
    views = tuple(sorted(program.views))
    return chosen or known or program.watches or views
