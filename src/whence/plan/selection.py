"""Aggregate selection: recursive relations of which only the best rows per group can matter
(Sudarshan and Ramakrishnan, 1991; here as in Liu et al., 2009, section 6).

From what is asked for, needs go down the rules: a relation is needed in full, or for its best rows
by some key, or for some row of each group. A rule whose head's value follows that of a premise
hands the need on to the premise, with those columns as its key on which anything else in the rule
depends. A row that is not best for any need then need not be used by the recursion:

1. Whatever the recursion could derive, the rows followed derive something of the same group that
   is as good: put the best row of its group for each premise; the rest of the body holds as
   before, and the value is as good because it follows. So best values are exact.
2. Where other columns of best rows are read (`ties`), every best row is derived: if the value
   follows strictly, a premise that is not best gives a row that is not; where it does not
   (`min`, `max`), columns that reach the head are part of the key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from whence.analysis.kinds import relation_kinds
from whence.analysis.strata import strata
from whence.diagnostics import NOWHERE, Diagnostic, Span
from whence.plan.bodies import (
    Body,
    columns_of,
    fixed_columns,
    known_name,
    read_body,
    used_columns,
)
from whence.plan.certificates import Certificates, certified, read_aggregate
from whence.plan.monotone import ORDERED, Flow, flow, passes_better
from whence.plan.nodes import Growth, Positive, Selection
from whence.rewrite.terms import names
from whence.syntax.nodes import Aggregate, Atom, Constraint, Kind, Program, Variable, Wildcard, walk
from whence.syntax.printer import print_term

MAX_SELECTIONS = 8
"""Needs of one relation; with more, hardly a row is best for none."""


@dataclass(frozen=True, slots=True)
class Selected:
    """What is selected from each recursive relation, on which assumptions, and what is not, why."""

    selections: Mapping[str, tuple[Selection, ...]] = field(default_factory=dict)
    assumes: Mapping[str, tuple[Positive, ...]] = field(default_factory=dict)
    refusals: Mapping[str, Diagnostic] = field(default_factory=dict)


def select(
    program: Program,
    growths: Mapping[str, Growth],
    asked: Collection[str] | None = None,
    inputs: Collection[str] | None = None,
) -> Selected:
    """Return the selections of a rewritten program.

    `asked` are the relations that somebody reads; None when that may be any. Then only
    relations that could otherwise grow for ever are selected from, because what is not best is
    missing from them.
    """
    if not any(map(_has_selecting_aggregate, (r.body for r in program.rules))):
        return Selected()
    found = _Needs(program, growths, inputs)
    if not found.recursive:
        return Selected()
    found.ask(asked)
    return found.result()


def _has_selecting_aggregate(body: tuple[object, ...]) -> bool:
    return any(
        isinstance(side, Aggregate) and side.function in ("min", "max")
        for literal in body
        if isinstance(literal, Constraint)
        for side in (literal.left, literal.right)
    )


@dataclass(slots=True)
class _Need:
    """What is needed of one relation."""

    everything: Diagnostic | None = None
    best: dict[Selection, bool] = field(default_factory=dict)
    """Whether other columns of the best rows are read, too."""
    some: dict[frozenset[int], Diagnostic] = field(default_factory=dict)
    assumes: dict[Positive, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Goal:
    """What of a head matters: its key, its value if one is best, the rest only with `ties`."""

    key: frozenset[int]
    value: int | None
    greatest: bool
    ties: bool


class _Needs:
    """The needs of all relations, growing from those of the relations that are asked for."""

    def __init__(
        self, program: Program, growths: Mapping[str, Growth], inputs: Collection[str] | None
    ) -> None:
        self.program = program
        self.growths = growths
        self.kinds = relation_kinds(program)
        self.attributes = {d.name: [a.name for a in d.attributes] for d in program.relations}
        self.stratum: dict[str, int] = {}
        self.recursive: set[str] = set()
        for number, stratum in enumerate(strata(program)):
            self.stratum.update(dict.fromkeys(stratum.relations, number))
            if stratum.recursive:
                self.recursive.update(stratum.relations)
        self.bodies: dict[str, list[Body]] = {}
        for rule in program.rules:
            self.bodies.setdefault(rule.head.relation, []).append(read_body(rule))
        given = {d.relation for d in program.directives if d.action == "input"} | {*(inputs or ())}
        order = sorted(self.stratum, key=self.stratum.__getitem__)
        self.certificates = Certificates(self.bodies, order, given | self.recursive)
        self.needs = {name: _Need() for name in self.stratum}
        self.pending: dict[str, None] = {}

    # ── what is asked for ──

    def ask(self, asked: Collection[str] | None) -> None:
        """Need what is asked for in full, and what follows from that."""
        for name in self.stratum:
            if asked is None and not name.startswith("@"):
                if name not in self.recursive or name not in self.growths:
                    self._need_all(name, _kept(name))
            elif asked is not None and name in asked:
                self._need_all(name, _asked(name))
        for d in self.program.directives:
            if d.action in ("output", "printsize"):
                self._need_all(d.relation, _asked(d.relation, d.span))
            elif d.action == "limitsize":
                self._need_all(d.relation, _special(d.relation, "`.limitsize`", d.span))
        for s in self.program.subsumptions:
            number = self.stratum.get(s.dominated.relation)
            for name in [n for n, other in self.stratum.items() if other == number]:
                self._need_all(name, _special(name, "`<=`", s.span))
            for literal in s.body:
                self._all_inside(literal, "a subsumption")
        self._settle()
        while any(self._refuse(name) for name in sorted(self.recursive)):
            self._settle()

    def _settle(self) -> None:
        while self.pending:
            name = next(iter(self.pending))
            del self.pending[name]
            self._hand_on(name)

    def _refuse(self, name: str) -> bool:
        """Need a recursive relation in full after all, if its best rows are not enough."""
        need = self.needs[name]
        if need.everything is not None or not (need.best or need.some):
            return False
        keys = [set(selection.key) for selection in need.best]
        for columns, why in need.some.items():
            if not any(columns <= key for key in keys):
                self._need_all(name, why)
                return True
        made = self._made(name, set[int]().union(*keys))
        if made or len(keys) > MAX_SELECTIONS:
            self._need_all(name, self._too_fine(name, min(made, default=None)))
            return True
        return False

    def _made(self, name: str, columns: set[int]) -> set[int]:
        """Return those columns that hold records or texts made in the recursion."""
        found: set[int] = set()
        for body in self.bodies.get(name, ()):
            same = [a for a in body.atoms if self.stratum[a.relation] == self.stratum[name]]
            inside = names(*same).keys()
            found.update(
                c
                for c in columns
                if self.kinds[name][c] in (Kind.RECORD, Kind.SYMBOL)
                and not isinstance(body.head[c], Variable)
                and not inside.isdisjoint(names(body.head[c]))
            )
        return found

    def result(self) -> Selected:
        """Return what the needs come to for recursive relations."""
        selections: dict[str, tuple[Selection, ...]] = {}
        assumes: dict[str, tuple[Positive, ...]] = {}
        refusals: dict[str, Diagnostic] = {}
        for name in sorted(self.recursive, key=self.stratum.__getitem__):
            need = self.needs[name]
            if need.everything is not None:
                if need.best:
                    refusals[name] = need.everything
            elif need.best:
                selections[name] = _without_implied(need.best)
                assumes[name] = tuple(need.assumes)
        return Selected(selections, assumes, refusals)

    # ── needs ──

    def _need_all(self, name: str, why: Diagnostic) -> None:
        need = self.needs.get(name)
        if need is not None and need.everything is None:
            need.everything = why
            self.pending[name] = None

    def _need_best(self, name: str, selection: Selection, *, ties: bool) -> None:
        need = self.needs[name]
        if selection not in need.best or (ties and not need.best[selection]):
            need.best[selection] = ties
            self.pending[name] = None
            if len(need.best) > 4 * MAX_SELECTIONS:  # there may be one for each set of columns
                self._need_all(name, self._too_fine(name, None))

    def _need_some(self, name: str, columns: Collection[int], why: Diagnostic) -> None:
        need = self.needs[name]
        if frozenset(columns) not in need.some:
            need.some[frozenset(columns)] = why
            self.pending[name] = None

    # ── from heads to bodies ──

    def _hand_on(self, name: str) -> None:
        for body in self.bodies.get(name, ()):
            for atom in body.negated:
                columns = {i for i, a in enumerate(atom.args) if not isinstance(a, Wildcard)}
                self._need_some(atom.relation, columns, self._beyond(name, atom, columns))
            for _, aggregate in body.aggregates:
                self._aggregate(body, aggregate)
            certificates = list(self.certificates.of(body))
            for atom in body.atoms:
                selection = certified(atom, certificates)
                if selection is not None:
                    read = names(*body.head, *body.elsewhere(atom))
                    rest = used_columns(atom, read) - {*selection.key, selection.value}
                    self._need_best(atom.relation, selection, ties=bool(rest))
                    continue
                for goal in self._goals(name, len(body.head)):
                    self._premise(name, body, atom, goal)

    def _goals(self, name: str, arity: int) -> Iterator[_Goal]:
        need = self.needs[name]
        if need.everything is not None:
            yield _Goal(frozenset(range(arity)), None, greatest=False, ties=False)
            return
        for s, ties in list(need.best.items()):
            yield _Goal(frozenset(s.key), s.value, s.greatest, ties)
        if name not in self.recursive:  # a recursive one gives some row where it gives a best one
            for columns in list(need.some):
                yield _Goal(columns, None, greatest=False, ties=False)

    def _aggregate(self, body: Body, aggregate: Aggregate) -> None:
        found = read_aggregate(body, aggregate)
        if found is None:
            self._all_inside(aggregate, f"`{aggregate.function}`")
        else:
            atom, selection = found
            self._need_best(atom.relation, selection, ties=False)

    def _all_inside(self, node: object, reader: str) -> None:
        for inner in walk(node):  # type: ignore[arg-type]
            if isinstance(inner, Atom):
                why = f"{reader} reads rows of `{inner.relation}` that are not best"
                self._need_all(inner.relation, Diagnostic("W0511", why, inner.span))

    def _premise(self, name: str, body: Body, atom: Atom, goal: _Goal) -> None:
        """Hand a need of the head on to one premise."""
        why = None
        if goal.value is not None and any(
            v in names(body.head[goal.value]) for v in columns_of(atom)
        ):
            why = self._follow(name, body, atom, goal)
            if why is None:
                return
        terms = [body.head[c] for c in goal.key]
        if goal.value is not None:
            terms.append(body.head[goal.value])
        if goal.ties:
            terms = list(body.head)
        columns = used_columns(atom, names(*terms, *body.elsewhere(atom)))
        self._need_some(atom.relation, columns, why or self._beyond(name, atom, columns))

    def _follow(self, name: str, body: Body, atom: Atom, goal: _Goal) -> Diagnostic | None:
        """Need the premise's best rows, if the head's value follows theirs; else say why not."""
        assert goal.value is not None
        term = body.head[goal.value]
        others = body.elsewhere(atom)
        key_names = names(*(body.head[c] for c in goal.key))
        payload = names(
            *(
                body.head[c]
                for c in range(len(body.head))
                if goal.ties and c not in goal.key and c != goal.value
            )
        )
        inside = [(c, v) for v, c in columns_of(atom).items() if v in names(term)]
        inside.sort(key=lambda found: found[0] != goal.value)
        why: Diagnostic | None = None
        for column, variable in inside:
            found = flow(term, variable)
            shown = f"`{self.attributes[atom.relation][column]}` of `{atom.relation}`"
            if found is None or self.kinds[atom.relation][column] not in ORDERED:
                text = f"`{print_term(term)}` need not become better with {shown}"
                why = why or Diagnostic("W0512", text, atom.span)
                continue
            used = any(
                variable in names(o) and not passes_better(o, variable, greatest=goal.greatest)
                for o in others
            )
            blocked = used or variable in key_names or column in fixed_columns(atom)
            if blocked or (variable in payload and not found.strict):
                text = f"{shown} is used for more than the value of {_shown(name)}"
                why = why or Diagnostic("W0513", text, atom.span)
                continue
            factors = self._factors(name, body, atom, found)
            if factors is None:
                text = f"the factors of {shown} are not known to be above zero"
                why = why or Diagnostic("W0512", text, atom.span)
                continue
            read = names(*others).keys() | key_names.keys() | names(term).keys()
            key = used_columns(atom, read - {variable})
            rest = used_columns(atom, payload) - key - {column}
            if not found.strict:
                key |= rest
            kind = self.kinds[atom.relation][column]
            selection = Selection(tuple(sorted(key)), column, kind, goal.greatest)
            self.needs[atom.relation].assumes.update(dict.fromkeys(factors))
            self._need_best(atom.relation, selection, ties=found.strict and bool(rest))
            return None
        return why

    def _factors(self, name: str, body: Body, atom: Atom, found: Flow) -> list[Positive] | None:
        """Return where the factors come from, if that is complete before the recursion starts."""
        out: list[Positive] = []
        number = self.stratum[atom.relation]
        for factor in found.factors:
            sources = [
                Positive(other.relation, column, self.kinds[other.relation][column])
                for other in body.atoms
                for column in [columns_of(other).get(factor)]
                if column is not None and self.stratum[other.relation] < number
            ]
            if not sources or self.stratum[name] != number:
                return None
            out.append(sources[0])
        return out

    # ── why not ──

    def _beyond(self, name: str, atom: Atom, columns: Collection[int]) -> Diagnostic:
        listed = self.attributes[atom.relation]
        shown = ", ".join(f"`{listed[c]}`" for c in sorted(columns)) or "rows"
        what = f"{_shown(name)} reads {shown} of `{atom.relation}` also where a row is not best"
        return Diagnostic("W0511", what, atom.span)

    def _too_fine(self, name: str, column: int | None) -> Diagnostic:
        if column is None:
            what = f"`{name}` is read in more than {MAX_SELECTIONS} ways"
            return Diagnostic("W0513", what)
        shown = self.attributes[name][column]
        what = f"rules depend on `{shown}` of `{name}`, in which hardly two rows agree"
        return Diagnostic("W0513", what)


def _without_implied(best: Mapping[Selection, bool]) -> tuple[Selection, ...]:
    """Leave out a selection where the same by more columns keeps all that it would."""
    return tuple(
        replace(s, ties=ties)
        for s, ties in sorted(best.items(), key=lambda n: (n[0].key, n[0].value, n[0].greatest))
        if not any(
            set(s.key) < set(o.key)
            and (s.value, s.greatest) == (o.value, o.greatest)
            and more >= ties
            for o, more in best.items()
        )
    )


def _shown(name: str) -> str:
    """Return the name of a relation; those that passes make are not the user's."""
    return "an aggregate" if name.startswith("@agg") else f"`{known_name(name)}`"


def _asked(name: str, span: Span = NOWHERE) -> Diagnostic:
    return Diagnostic("W0510", f"`{name}` itself is asked for", span)


def _kept(name: str) -> Diagnostic:
    return Diagnostic("W0510", f"`{name}` may be asked for, and ends without it")


def _special(name: str, what: str, span: Span) -> Diagnostic:
    return Diagnostic("W0514", f"{what} decides on the rows of `{name}`", span)
