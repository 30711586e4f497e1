"""Where tuples are: one location for each predicate, and the same column everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from whence.analysis.ndlog.state import atoms
from whence.diagnostics import Diagnostic
from whence.syntax.nodes import Atom, Constant, HeadAggregate, Program, Rule, Term, Variable


def check_locations(program: Program) -> list[Diagnostic]:
    """Report predicates without a location, or with one in another column than elsewhere."""
    found: list[Diagnostic] = []
    first: dict[str, Atom] = {}
    for atom, asked in _all_atoms(program):
        if atom.location is None:
            found.append(_missing(atom))
            continue
        if not asked and place(atom) is None:
            found.append(_no_address(atom))
        before = first.setdefault(atom.relation, atom)
        if before.location != atom.location and before.location is not None:
            found.append(_moved(atom, before))
    return found


def place(atom: Atom) -> Variable | Constant | None:
    """Return what stands at the location of a predicate: a variable or an address."""
    if atom.location is None:
        return None
    term: Term | None = atom.args[atom.location]
    if isinstance(term, HeadAggregate):
        term = term.target
    return term if isinstance(term, Variable | Constant) else None


def places(rule: Rule) -> dict[Variable | Constant, Atom]:
    """Return the locations of a rule's predicates, heads first, each with one that has it."""
    found: dict[Variable | Constant, Atom] = {}
    for atom in atoms(rule):
        here = place(atom)
        if here is not None:
            found.setdefault(here, atom)
    return found


def _all_atoms(program: Program) -> Iterator[tuple[Atom, bool]]:
    """Yield all predicates, and whether each is only asked for."""
    for rule in program.rules:
        yield from ((atom, False) for atom in atoms(rule))
    yield from ((query.atom, True) for query in program.queries)


def _missing(atom: Atom) -> Diagnostic:
    hint = f"mark the argument that is an address, as in `{atom.relation}(@X, …)`"
    if not atom.args:
        hint = f"a tuple is at the address in one of its columns: `{atom.relation}(@X)`"
    return Diagnostic(
        "W1310", f"`{atom.relation}` does not say where its tuples are", atom.span, hint=hint
    )


def _no_address(atom: Atom) -> Diagnostic:
    assert atom.location is not None
    return Diagnostic(
        "W1309",
        f"the location of `{atom.relation}` is no address",
        atom.args[atom.location].span,
        hint="write a variable, or a constant such as `@a`",
    )


def _moved(atom: Atom, before: Atom) -> Diagnostic:
    assert atom.location is not None
    assert before.location is not None
    return Diagnostic(
        "W1311",
        f"`{atom.relation}` has its location in another column than before",
        atom.args[atom.location].span,
        f"column {atom.location + 1}",
        notes=(f"it is column {before.location + 1} in line {before.span.line}",),
        hint="all tuples of a relation are placed by the same column",
    )
