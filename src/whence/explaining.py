"""Why facts of a database hold, and why others do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whence import session
from whence.committed import Committed
from whence.derived import Derived
from whence.explain.base import MAX_INSTANCES, MAX_TUPLES, NEAREST, OVER, Asked
from whence.explain.model import Cone, Fact, Proof, WhyNot
from whence.facts.records import record_text
from whence.rewrite.read_in import PLAIN, AnySemiring, semiring_of
from whence.rewrite.stated import state_annotations
from whence.semiring.base import Law
from whence.semiring.registry import make

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.engine.base import Evaluation
    from whence.explain.explainer import Explainer
    from whence.explain.rules import Rules
    from whence.syntax.nodes import Program
    from whence.view.base import View


class Explaining:
    """The part of a `Database` that proves its facts."""

    _committed: Committed
    _explanations: Explanations

    def why(
        self,
        fact: Asked,
        *,
        minimal: bool = False,
        depth: int | None = None,
        semiring: str | AnySemiring | None = None,
        over: int = OVER,
        limit: int = MAX_INSTANCES,
    ) -> Proof:
        """Return a proof of a fact: the rule instance that derives it, with proofs of its premises.

        It is of minimal height after a fresh evaluation, or when `minimal` asks for it. Where
        facts are annotated in an ordered semiring, such as `tropical`, it is one whose annotation
        is that of the fact; `semiring` asks for another one, or for "plain". Proofs that are
        `depth` steps away are cut, and of what an aggregate is over, `over` facts are proved.

        >>> from whence import Database
        >>> db = Database()
        >>> db.load('''
        ... .decl edge(x: number, y: number)
        ... .decl path(x: number, y: number)
        ... path(x, y) :- edge(x, y).
        ... path(x, z) :- path(x, y), edge(y, z).
        ... edge(1, 2).  edge(2, 3).
        ... ''')
        >>> proof = db.why("path(1, 3)")
        >>> proof.number, proof.bindings, proof.height
        (2, (('x', 1), ('z', 3), ('y', 2)), 2)
        >>> proof.premises
        (<Derived path(1, 2) by rule 1, height 1>, Given(fact=Fact(...), annotation=None))
        """
        with self._committed.reading() as derived:
            explainer, annotated = self._explainer(derived)
            chosen, annotation = _reading(semiring, minimal, derived.program, annotated)
            return explainer.why(
                fact,
                minimal=minimal,
                depth=depth,
                semiring=chosen,
                annotation=annotation,
                over=over,
                limit=limit,
            )

    def why_not(
        self, fact: Asked, *, depth: int = 0, nearest: int = NEAREST, limit: int = MAX_TUPLES
    ) -> WhyNot:
        """Return for each rule that could have derived a fact the instances that fail least.

        What is missing is gone into up to `depth` times.

        >>> from whence import Database
        >>> db = Database()
        >>> db.load(".decl a(x: number)  .decl b(x: number)  a(x) :- b(x), x < 3.  b(1).  b(4).")
        >>> db.why_not("a(4)").failed[0].missing
        (Missing(kind='constraint', text='4 < 3', ...),)
        """
        with self._committed.reading() as derived:
            explainer, _ = self._explainer(derived)
            return explainer.why_not(fact, depth=depth, nearest=nearest, limit=limit)

    def derivations(self, fact: Asked, *, limit: int = MAX_INSTANCES) -> Cone:
        """Return every rule instance that can take part in a derivation of the fact, as a graph."""
        with self._committed.reading() as derived:
            explainer, _ = self._explainer(derived)
            return explainer.derivations(fact, limit=limit)

    def _explainer(self, derived: Derived) -> tuple[Explainer, Annotated]:
        """Return who explains, and who knows the annotations of base facts."""
        known: Explanations | None = getattr(self, "_explanations", None)
        if known is None:
            known = self._explanations = Explanations()
        return known.of(derived, self._committed.number)


Annotated = Callable[[AnySemiring], Callable[[Fact], Any]]
"""Gives the annotations of base facts in a semiring: that of the database."""


class Explanations:
    """Who explains the facts of a database, kept while its facts are the same."""

    def __init__(self) -> None:
        self._rules: tuple[Program, Rules] | None = None
        self._kept: tuple[object, int, Explainer, Annotated] | None = None

    def of(self, derived: Derived, commit: int) -> tuple[Explainer, Annotated]:
        """Return who explains the facts of now."""
        from whence.explain.explainer import explainer_of
        from whence.view.annotated import ChainView
        from whence.view.live import LiveView

        found = derived.relations()
        live = isinstance(found, LiveView | ChainView)
        state = _state(found) if live else found
        if self._kept is None or self._kept[0] is not state or self._kept[1] != commit:
            known, exact = (found, False) if live else _as_written(derived, found)
            explainer = explainer_of(
                derived.program,
                known,
                {} if live else derived.base(),
                derived.functors,
                self._rules_of(derived.program),
                stated=derived.view is None,
                exact=exact,
            )
            self._kept = state, commit, explainer, base_annotations(derived)
        return self._kept[2], self._kept[3]

    def _rules_of(self, program: Program) -> Rules:
        from whence.explain.rules import rules_of

        if self._rules is None or self._rules[0] is not program:
            self._rules = program, rules_of(program)
        return self._rules[1]


def _as_written(derived: Derived, found: View | Evaluation) -> tuple[Evaluation, bool]:
    """Return an evaluation for explanations: the one that is there, if it will do."""
    from whence.engine.local.engine import LocalEvaluation

    settings = derived.settings
    program, base = _without_zeros(
        derived.program if derived.view is None else derived.unsettled(), derived
    )
    return session.evaluate_as_written(
        program,
        base,
        known=found if isinstance(found, LocalEvaluation) else None,
        limits=settings.limits,
        threads=settings.threads,
        observer=settings.observer,
        functors=derived.functors,
    )


def _without_zeros(program: Program, derived: Derived) -> tuple[Program, dict[str, pa.Table]]:
    """Return the program and its base facts without those that are annotated zero: not there."""
    from whence.facts.annotations import without_zeros

    semiring, base = semiring_of(derived.program), dict(derived.base())
    if semiring is None:
        return program, base
    defaults = derived.settings.annotations
    for name, table in base.items():
        decl = program.relation(name)
        if decl.provenance is not None or name in defaults:
            base[name] = without_zeros(name, table, decl.arity, semiring, defaults.get(name))
    stated = state_annotations(program)
    gone = [
        number
        for number, rule in enumerate(stated.rules)
        if rule.annotation is not None and semiring.read(rule.annotation.value) == semiring.zero
    ]
    rules = tuple(rule for number, rule in enumerate(program.rules) if number not in gone)
    return replace(program, rules=rules), base


def _state(view: View | Evaluation) -> object:
    """Return what a view holds its relations in now; it may be made anew between two looks."""
    from whence.view.live import LiveView

    inner = getattr(view, "inner", view)
    assert isinstance(inner, LiveView)
    return inner.evaluation if inner.holders is not None else None


def base_annotations(derived: Derived) -> Annotated:
    """Return what gives the annotations of base facts; each relation is read when first asked."""

    def annotated(semiring: AnySemiring) -> Callable[[Fact], Any]:
        read: dict[str, dict[tuple[object, ...], Any]] = {}

        def annotation(fact: Fact) -> Any:
            if fact.relation not in read:
                read[fact.relation] = _cells(derived, fact.relation, semiring)
            row = tuple(
                [record_text(v) if v is None or isinstance(v, tuple) else v for v in fact.row]
            )
            found = read[fact.relation].get(row)
            return semiring.variable(str(fact)) if found is None else found

        return annotation

    return annotated


def _cells(derived: Derived, relation: str, semiring: AnySemiring) -> dict[tuple[object, ...], Any]:
    """Return the annotation of each base fact that has one."""
    from whence.facts.annotations import with_cells
    from whence.facts.stated import apart_from_facts, facts_and

    program = derived.program
    arity, default = program.relation(relation).arity, derived.settings.annotations.get(relation)
    if program.relation(relation).provenance is None and default is None:
        return {}
    if derived.view is not None:
        tables = {relation: derived.view.base(relation)}
    else:
        _, stated = apart_from_facts(state_annotations(program))
        tables = facts_and(stated, derived.base())
    if relation not in tables:
        return {}
    table = with_cells(relation, tables[relation], arity, semiring, default)
    columns = [column.to_pylist() for column in table.columns]
    found: dict[tuple[object, ...], Any] = {}
    for *row, cell in zip(*columns, strict=True):
        if cell is not None:
            value, key = semiring.read(cell), tuple(row)
            found[key] = semiring.plus(found[key], value) if key in found else value
    return found


def _reading(
    asked: str | AnySemiring | None, minimal: bool, program: Program, annotated: Annotated
) -> tuple[AnySemiring | None, Callable[[Fact], Any] | None]:
    """Return the semiring in which a proof is best, and the annotations of base facts in it."""
    own = semiring_of(program)
    if asked is None:
        ordered = own is not None and Law.ABSORPTIVE | Law.SELECTIVE in own.laws
        chosen = own if ordered and not minimal else None
    else:
        chosen = None if asked == PLAIN else make(asked)
    if chosen is None:
        return None, None
    same = own is not None and own.name == chosen.name
    return chosen, annotated(chosen) if same else None
