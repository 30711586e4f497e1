"""Every instance of every rule over evaluated relations, as row numbers: what semirings read.

A rule is run once more, over copies of its premises' relations that have the row number as one
more column, so that each combination of rows comes out. Negations, constraints and aggregates
only decide which instances there are.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whence.diagnostics import DataError, Diagnostic
from whence.engine.local.engine import LocalEvaluation
from whence.engine.local.guard import Guard
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.operators import CHUNK, Chunks
from whence.engine.local.relation import Relation
from whence.engine.local.rules import Scope, compile_plan
from whence.plan.build import is_plain_fact
from whence.plan.compile_rule import compile_rule
from whence.plan.nodes import Plan
from whence.rewrite.reorder_body import order_body
from whence.semiring.hypergraph import Hypergraph
from whence.semiring.order import Flags
from whence.syntax.nodes import Atom, Constant, Literal, Rule, Variable

_NUMBERED = "@row "
"""Before the name of a relation whose last column is the row number."""


@dataclass(frozen=True, slots=True)
class Grounded:
    """The instances of the rules of an evaluation; a fact is a row of a relation."""

    graph: Hypergraph
    """Its `rules` are places in `rules`."""
    rules: tuple[Rule, ...]
    first: Mapping[str, int]
    """For each relation that has nodes, the node of its first row; the others follow."""
    base: Flags
    """Which nodes are base facts; they may be derived as well."""

    def fact(self, node: int) -> tuple[str, int]:
        """Return the relation and row of a node."""
        # Of relations that begin at the same node all but the last are empty.
        name, at = [item for item in self.first.items() if item[1] <= node][-1]
        return name, node - at


def ground(evaluation: LocalEvaluation, plan: Plan, guard: Guard) -> Grounded:
    """Return all instances of a plan's rules over its evaluation.

    Relations that passes made up have no nodes: rules only read them in negations and aggregates.
    Facts of the text, which have no premises, are no instances.
    """
    program = plan.program
    first: dict[str, int] = {}
    nodes = 0
    for decl in program.relations:
        if is_annotated(decl.name):
            first[decl.name] = nodes
            nodes += evaluation.relations[decl.name].size
    rules = tuple(rule for rule in program.rules if rule.body and is_annotated(rule.head.relation))
    grounding = Grounding(evaluation, guard, dropping(plan) | evaluation.selected)
    parts = [(grounding.instances(rule), rule) for rule in rules]
    base = np.zeros(nodes, dtype=np.bool_)
    for name, at in first.items():
        base[at : at + evaluation.loaded[name]] = True
    for rule in program.rules:  # facts that are computed are not loaded, but derived by a plan
        if not rule.body and rule.head.relation in first and not is_plain_fact(rule):
            base[first[rule.head.relation] + grounding.instances(rule)[:, 0]] = True
    return Grounded(join_instances(parts, first, nodes), rules, first, base)


def is_annotated(relation: str) -> bool:
    """Say whether the relation is the program's own: those of passes are read for support only."""
    return not relation.startswith("@")


def dropping(plan: Plan) -> frozenset[str]:
    """Return the relations that may lack facts which their rules derive."""
    limited = {d.relation for d in plan.program.directives if d.action == "limitsize"}
    found = {s.dominated.relation for s in plan.program.subsumptions}
    for stratum in plan.strata:
        if limited.intersection(stratum.relations):
            found.update(stratum.relations)
    return frozenset(found)


def join_instances(
    parts: Sequence[tuple[Rows, Rule]], first: Mapping[str, int], nodes: int
) -> Hypergraph:
    """Return the instances of several rules as one graph over numbered nodes."""
    heads: list[Ints] = [np.empty(0, dtype=np.int64)]
    premises: list[Ints] = [np.empty(0, dtype=np.int64)]
    lengths: list[Ints] = [np.zeros(1, dtype=np.int64)]
    rules: list[Ints] = [np.empty(0, dtype=np.int64)]
    for number, (rows, rule) in enumerate(parts):
        n = rows.shape[0]
        offsets = [first[atom.relation] for atom in premises_of(rule)]
        heads.append(rows[:, 0] + first[rule.head.relation])
        premises.append((rows[:, 1:] + np.array(offsets, dtype=np.int64)).ravel())
        lengths.append(np.full(n, len(offsets), dtype=np.int64))
        rules.append(np.full(n, number, dtype=np.int64))
    start = np.cumsum(np.concatenate(lengths))
    return Hypergraph(
        nodes, np.concatenate(heads), np.concatenate(rules), start, np.concatenate(premises)
    )


def premises_of(rule: Rule) -> list[Atom]:
    """Return the atoms of a flat body whose facts are premises, in the order of the body."""
    return [literal for literal in rule.body if isinstance(literal, Atom)]


class Grounding:
    """Rules run for their instances, over relations that are complete."""

    def __init__(
        self, evaluation: LocalEvaluation, guard: Guard, dropping: Collection[str] = ()
    ) -> None:
        self._evaluation = evaluation
        self._guard = guard
        self._dropping = dropping
        self._numbered: dict[str, Relation] = {}
        self._chunks = Chunks()
        inner = evaluation.scope(guard)
        self._inner = replace(
            inner,
            relations=ChainMap(self._numbered, evaluation.relations),
            code=_code_of_originals(inner.code),
        )

    def instances(self, rule: Rule) -> Rows:
        """Return an array with a line for each instance: the head's row, then the premises'."""
        relations = self._evaluation.relations
        found: list[Rows] = []
        body: list[Literal] = []
        rows: list[Variable] = []
        for literal in rule.body:
            if isinstance(literal, Atom):
                rows.append(Variable(f"@row{len(rows)}"))
                name = _NUMBERED + literal.relation
                literal = replace(literal, relation=name, args=(*literal.args, rows[-1]))
            body.append(literal)
        head = replace(rule.head, args=(*rule.head.args, *rows))
        arity = len(rule.head.args)
        scope = self._scope(atom.relation for atom in premises_of(rule))
        sizes = {a.relation: scope.relations[a.relation].size for a in body if isinstance(a, Atom)}
        whole = Rule((head,), tuple(body), span=rule.span)
        plan = compile_rule(whole, head, order_body(whole, None, sizes), {})
        relation, guard = relations[head.relation], self._guard

        def sink(cand: Rows, n: int) -> None:
            part = np.empty((n, 1 + cand.shape[1] - arity), dtype=np.int64)
            part[:, 0] = rows_of(relation, cand[:n, :arity])
            part[:, 1:] = cand[:n, arity:]
            found.append(part)
            guard.work += n
            guard.check()

        runner = compile_plan(plan, scope, self._chunks, sink)
        source = runner.source()
        for begin in range(0, source.shape[0], CHUNK):
            chunk = source[begin : begin + CHUNK]
            runner.push(chunk, chunk.shape[0])
            guard.check()
        every = np.concatenate(found) if found else np.empty((0, 1 + len(rows)), dtype=np.int64)
        return self._kept(every, rule, relation)

    def forget(self, relation: str) -> None:
        """Read the relation anew: some of its rows have gone."""
        self._numbered.pop(_NUMBERED + relation, None)

    def _kept(self, rows: Rows, rule: Rule, relation: Relation) -> Rows:
        """Leave out instances whose heads were dropped; there is no other reason to lack a head."""
        absent = rows[:, 0] < 0
        if not absent.any():
            return rows
        if relation.name not in self._dropping:
            raise DataError(
                Diagnostic(
                    "W0932",
                    f"a rule of `{relation.name}` derives other facts when it is run again",
                    rule.span,
                    "annotated facts need functors that always give the same",
                    hint="let functors depend on nothing but their arguments",
                )
            )
        return rows[~absent]

    def _scope(self, premises: Iterable[str]) -> Scope:
        """Return the relations, and numbered ones for the premises."""
        for name in premises:
            if _NUMBERED + name not in self._numbered:
                found = _numbered(self._evaluation.relations[name])
                self._numbered[_NUMBERED + name] = found
        return self._inner


def _code_of_originals(
    code: Callable[[str, int, Constant], int],
) -> Callable[[str, int, Constant], int]:
    return lambda relation, column, constant: code(
        relation.removeprefix(_NUMBERED), column, constant
    )


def _numbered(relation: Relation) -> Relation:
    """Return a copy of the rows that are there, each with its number as a last column."""
    numbers = np.arange(relation.size)
    rows = relation.rows[: relation.size]
    if relation.dead.shape[0]:
        numbers = np.flatnonzero(relation.dead[: relation.size] == 0)
        rows = rows[numbers]
    copy = Relation(_NUMBERED + relation.name, relation.arity + 1)
    copy.rows = np.column_stack([rows, numbers])
    copy.size = copy.mark = copy.old = numbers.shape[0]
    return copy


def rows_of(relation: Relation, tuples: Rows) -> Ints:
    """Return the row of each tuple, -1 for one that is not there."""
    if relation.arity == 0:
        found = np.zeros(tuples.shape[0], dtype=np.int64)
        if relation.size == 0:
            found[:] = -1
    elif relation.size == 0:
        return np.full(tuples.shape[0], -1, dtype=np.int64)
    else:
        found = relation.find(np.ascontiguousarray(tuples))
    if relation.dead.shape[0]:
        found = np.where((found >= 0) & (relation.dead[found] != 0), -1, found)
    return found
