"""What must not be taken apart: strata that one task has to evaluate, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whence.analysis.kinds import Kinds
from whence.engine.spark.cut.improving import why_unordered
from whence.engine.spark.cut.known import Known
from whence.plan.bodies import known_name
from whence.plan.nodes import Stratum
from whence.rewrite.terms import term_kind
from whence.syntax.nodes import (
    Call,
    Cast,
    Counter,
    Kind,
    Literal,
    Rule,
    Subsumption,
    Term,
    UserCall,
    Variable,
    walk,
)

_CODED = (Kind.SYMBOL, Kind.RECORD)


def kept_together(known: Known) -> dict[int, str]:
    """Return why a stratum is evaluated by one task, for each of which that is so.

    Numbers that an evaluation gives out (`$`, `ord`, functors with a state) must come from one
    evaluation: from the first stratum that uses them to the last, all are together.
    """
    found: dict[int, str] = {}
    limited = {d.relation for d in known.program.directives if d.action == "limitsize"}
    stateful = {f.name for f in known.program.functors if f.stateful}
    kinds = Kinds(known.program)
    numbered: dict[int, str] = {}
    for stratum in known.plan.strata:
        for name in stratum.relations:
            if name in limited:
                found[stratum.number] = f"`.limitsize` counts all tuples of `{name}`"
        why = _numbers(stratum, stateful, kinds)
        if why is not None:
            numbered[stratum.number] = why
    if numbered:
        first, last = min(numbered), max(numbered)
        why = numbered[first]
        for stratum in known.plan.strata[first : last + 1]:
            found.setdefault(stratum.number, numbered.get(stratum.number, why))
    return found


def why_unshipped(known: Known, stratum: Stratum) -> str | None:
    """Return why tuples of a stratum must not go from task to task, if they must not."""
    for growth in stratum.growths:
        name = known_name(growth.relation)
        return f"`{name}` may grow for ever, which one evaluation notices and several do not"
    return why_unordered(known, stratum)


def _numbers(stratum: Stratum, stateful: set[str], kinds: Kinds) -> str | None:
    """Say what in a stratum gives out numbers that only one evaluation knows."""
    for variables, node in _nodes(stratum, kinds):
        match node:
            case Counter():
                return "`$` counts through the whole evaluation"
            case UserCall(name=name) if name in stateful:
                return f"the functor `@{name}` has a state"
            case Call(functor="ord", kind=kind) if kind in _CODED:
                return "`ord` numbers values in the order in which one evaluation meets them"
            case Cast(term=term, type=target):
                kind = variables.get(term.name) if isinstance(term, Variable) else term_kind(term)
                into = kinds.types[target]
                if kind is not into and (kind in (None, *_CODED) or into in _CODED):
                    return "`as` reads the number that one evaluation gave a value"
    return None


def _nodes(stratum: Stratum, kinds: Kinds) -> Iterator[tuple[Mapping[str, Kind], Term | Literal]]:
    """Yield what is inside of the statements, with the kinds of their variables."""
    statements: list[Rule | Subsumption] = [*stratum.rules, *stratum.subsumptions]
    for statement in statements:
        heads = statement.heads if isinstance(statement, Rule) else ()
        variables: Mapping[str, Kind] | None = None
        for literal in (*heads, *statement.body):
            for node in walk(literal):
                if isinstance(node, Cast) and variables is None:
                    variables = kinds.variables(statement)
                yield variables or {}, node
