"""Joins in two steps: rules that no task could evaluate without all tuples of something large.

`a(x, w) :- b(x, y), c(y, z), d(z, w)` becomes `@join0(x, z) :- b(x, y), c(y, z)` and
`a(x, w) :- @join0(x, z), d(z, w)`: the first is at home where `y` is, the second where `z` is, and
what is between goes from task to task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from whence.analysis.kinds import Kinds
from whence.engine.spark.cut.known import Known
from whence.engine.spark.cut.reading import Reading, Statement, read_rule
from whence.plan.nodes import Stratum
from whence.rewrite.column_types import Schema, declare, relation_names
from whence.rewrite.terms import names
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constraint,
    Literal,
    RelationDecl,
    Rule,
    Variable,
    walk,
)

FEW_TASKS = 4
"""With no more than these, a derived relation may be at every task: joins in steps cost more."""


def split_joins(known: Known, strata: Sequence[Stratum]) -> tuple[Known, list[Stratum]]:
    """Return the strata with joins in steps where that is called for, and what is known then."""
    splitting = _Splitting(known)
    found = [part for stratum in strata for part in splitting.stratum(stratum)]
    if not splitting.declared:
        return known, list(strata)
    return splitting.result(found), found


class _Splitting:
    def __init__(self, known: Known) -> None:
        self.known = known
        self.schema = Schema(known.program)
        self.fresh = relation_names(known.decls, "@join")
        self.declared: dict[str, RelationDecl] = {}

    def stratum(self, stratum: Stratum) -> Iterator[Stratum]:
        """Yield the stratum, after strata of its own for what is between steps if it has none."""
        own = set(stratum.relations) if stratum.recursive else set[str]()
        rules: list[Rule] = []
        between: list[Rule] = []
        for rule in stratum.rules:
            *first, last = self.steps(rule, own)
            between.extend(first)
            rules.append(last)
        if not stratum.recursive:
            for rule in between:
                yield Stratum(stratum.number, (rule.head.relation,), False, (), (rule,), ())
            yield replace(stratum, rules=tuple(rules))
            return
        joins = tuple(rule.head.relation for rule in between)
        yield replace(stratum, relations=(*stratum.relations, *joins), rules=(*rules, *between))

    def steps(self, rule: Rule, own: Collection[str]) -> list[Rule]:
        """Return the rule, or the steps that it takes, the last one for its head."""
        found: list[Rule] = []
        while True:
            first = self._first(read_rule(rule), {*own, *self.declared})
            if first is None:
                return [*found, rule]
            step, rule = self._split(rule, first)
            found.append(step)

    def _first(self, statement: Statement, own: Collection[str]) -> list[int] | None:
        """Return the positive atoms of a first step, by their number, if there should be one."""
        positive = [r for r in statement.readings if r.positive]
        large = [r for r in positive if r.relation in own or not self.known.fits(r.relation)]
        anchors = [a for a in statement.anchors if isinstance(a, Variable)]
        if len(positive) < 3 or not anchors:
            return None

        def left(anchor: Variable) -> list[Reading]:
            return [r for r in large if not r.columns(anchor)]

        def called_for(readings: Sequence[Reading]) -> bool:
            huge = any(not self.known.fits(r.relation) for r in readings)
            return huge or (bool(readings) and self.known.tasks > FEW_TASKS)

        if not all(called_for(left(anchor)) for anchor in anchors):
            return None
        best = min(
            anchors,
            key=lambda a: (len(left(a)), -sum(bool(r.columns(a)) for r in positive)),
        )
        found = [i for i, r in enumerate(positive) if r.columns(best)]
        return found if 1 < len(found) < len(positive) else None

    def _split(self, rule: Rule, first: Collection[int]) -> tuple[Rule, Rule]:
        atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
        inside: list[Literal] = [atom for i, atom in enumerate(atoms) if i in first]
        bound = names(*inside)
        inside += [o for o in rule.body if _is_test(o) and names(o).keys() <= bound.keys()]
        outside = [o for o in rule.body if not any(o is i for i in inside)]
        used = names(rule.head, *outside)
        shared = [name for name in bound if name in used]
        types = self.schema.variable_types(rule)
        name = next(self.fresh)
        self.declared[name] = declare(name, {v: types.get(v) for v in shared})
        self.schema.relations[name] = self.declared[name]
        join = Atom(name, tuple(map(Variable, shared)), span=rule.span)
        step = Rule((join,), tuple(inside), span=rule.span)
        return step, replace(rule, body=(join, *outside), orders=())

    def result(self, strata: Sequence[Stratum]) -> Known:
        """Return what is known with the new rules and relations."""
        known = self.known
        rules = dict(known.rules)
        readers = dict(known.readers)
        for stratum in strata:
            changed: dict[str, list[Statement]] = {}
            for rule in stratum.rules:
                changed.setdefault(rule.head.relation, []).append(read_rule(rule))
            rules.update((name, tuple(found)) for name, found in changed.items())
            for name in changed.keys() & self.declared.keys():
                readers[name] = frozenset((stratum.number,))
        decls = {**known.decls, **self.declared}
        program = replace(known.program, relations=tuple(decls.values()))
        plan = replace(known.plan, program=program)
        kinds = Kinds(program).relations
        return replace(known, plan=plan, rules=rules, decls=decls, kinds=kinds, readers=readers)


def _is_test(literal: Literal) -> bool:
    return isinstance(literal, Constraint) and not any(
        isinstance(node, Aggregate) for node in walk(literal)
    )
