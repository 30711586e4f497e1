"""What follows from a program and its base facts: evaluated once, or kept current by a view.

A view is made when something first needs it. Until then facts only accumulate, and reads evaluate;
once facts change under somebody who reads, the view takes over and holds the base facts too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from whence import session
from whence.engine.base import Evaluation, Limits, Observer, RelationStats, Stats
from whence.facts.directives import concat_facts
from whence.facts.schema import arrow_schema, columns_of
from whence.functor.user import UserFunctors
from whence.loading import in_semiring, is_inline, other_semiring
from whence.netting import update_of
from whence.rewrite.read_in import PLAIN, AnySemiring, made, read_in, semiring_of
from whence.rewrite.stated import Default
from whence.rows import Row, tuples_of
from whence.syntax.nodes import Atom, Constant, Nil, Program, Record, Rule, Wildcard, walk
from whence.view.base import Batch, Changes, Update, View, Work

if TYPE_CHECKING:
    import pyarrow as pa

Undo: TypeAlias = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a database evaluates."""

    engine: str = "local"
    limits: Limits = Limits()
    threads: int | None = None
    observer: Observer | None = None
    maintain: str = "auto"
    semiring: str | AnySemiring | None = None
    """What facts are annotated in; None leaves it to the program."""
    annotations: Mapping[str, Default] = field(default_factory=dict)
    """What base facts are annotated with that come without, by relation."""


class Derived:
    """A program, its base facts, and what follows from them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.program = Program()
        """The program, its relations marked with the semiring that they are annotated in."""
        self.semiring = settings.semiring
        """What is asked for; a stored database may ask, too."""
        self.functors = UserFunctors()
        self.settled = 0
        """The facts in the text of so many rules are base facts by now, or were deleted since."""
        self.view: View | None = None
        self._facts: dict[str, list[pa.Table]] = {}
        self._later: dict[str, dict[Row, bool]] = {}
        """Whether facts are there in the end, decided after `_facts` and the program's text."""
        self._evaluation: Evaluation | None = None
        self._changing = False
        self._made_in = 0.0
        self._way_back: tuple[Batch, Work] | None = None
        """What brings the view back to the base facts it is to have, while it supposes others,
        and what the last commit had cost."""

    # ── what goes in ──

    def load(self, program: Program, facts: Mapping[str, pa.Table]) -> None:
        """Take the program, which begins with the one there is, and facts for it."""
        if self._later:
            self.make_view()
        if self.view is not None:
            self._facts = {name: [table] for name, table in self.base().items()}
            self.view = None
        self.program = read_in(program, self.semiring)
        for name, table in facts.items():
            self._facts.setdefault(name, []).append(table)
        self._evaluation = None

    def register(self, functors: UserFunctors) -> None:
        """Use these functions; what they gave before is derived anew."""
        self.come_back()
        if self.view is not None:
            self.load(self.program, {})
        self.functors = functors
        self._evaluation = None

    def restore(self, program: Program, settled: int, facts: Mapping[str, pa.Table]) -> None:
        """Hold this program and these base facts, and nothing of before."""
        self.program, self.settled = read_in(program, self.semiring), settled
        self._facts = {name: [table] for name, table in facts.items()}
        self._later, self.view, self._evaluation = {}, None, None

    def agree(self, program: Program, written: object) -> None:
        """Read a stored program in the semiring that it was written in, or say that one cannot."""
        found = in_semiring(read_in(program, self.semiring))
        if written is None or written == found:
            return
        if self.semiring is not None:
            raise other_semiring(str(written), str(found))
        if written != PLAIN:
            made(str(written))  # a folder does not name code to load
        self.semiring = str(written)

    def remember(self) -> Undo:
        """Return how to get back to the program and facts of now, while the view stays as it is."""
        before = (self.program, self.functors, self.settled, self.view, self._evaluation)
        facts = {name: list(tables) for name, tables in self._facts.items()}
        later = {name: dict(rows) for name, rows in self._later.items()}

        def undo() -> None:
            self.program, self.functors, self.settled, self.view, self._evaluation = before
            self._facts, self._later = facts, later

        return undo

    def put(self, batch: Batch) -> None:
        """Change base facts while there is no view, at no more than the cost of the change."""
        assert self.view is None
        for name, update in batch.items():
            if update.deleted is None and name not in self._later:
                if update.inserted is not None:
                    self._facts.setdefault(name, []).append(update.inserted)
                continue
            later = self._later.setdefault(name, {})
            if update.deleted is not None:
                later.update(dict.fromkeys(tuples_of(update.deleted), False))
            if update.inserted is not None:
                later.update(dict.fromkeys(tuples_of(update.inserted), True))
        self._changing = self._changing or self._evaluation is not None
        self._evaluation = None

    def apply(self, batch: Batch, *, undoable: bool) -> tuple[Changes, Undo]:
        """Change base facts in the view, and return what changed and how to undo it."""
        view = self.make_view()
        there = self._there(view, batch, self._ruled()) if undoable else {}
        changes = view.apply(batch)
        return changes, lambda: self._undo(view, batch, changes, there)

    def suppose(self, batch: Batch) -> Changes:
        """Return what a batch would change; base facts and what follows stay as they are.

        The way back does no harm to a view that has not gone, or is back already. So it is known
        first, and taken later where an interrupt comes between.
        """
        view = self.make_view()
        self._way_back = self._inverse(self._there(view, batch), batch), view.work
        try:
            changes = view.apply(batch)
        except Exception:  # then the view has not taken it
            view.work, self._way_back = self._way_back[1], None
            raise
        self.come_back()
        return changes

    def come_back(self) -> None:
        """End a supposition: at once, or when somebody looks after an interrupt."""
        if self._way_back is None:
            return
        inverse, work = self._way_back
        if self.view is not None:
            try:
                self.view.apply(inverse)
                self.view.work = work
            except Exception:  # such as a limit: begin again from the facts that were there
                self.restore(self.program, self.settled, self.base())
        if self.view is None:
            self.put(inverse)
        self._way_back = None

    # ── what comes out ──

    def relations(self) -> View | Evaluation:
        """Return the relations as they are: of the view, or of an evaluation that is kept."""
        if self.view is not None:
            return self.view
        if self._evaluation is not None:
            return self._evaluation
        if self._changing or self._later or self.settled:
            return self.make_view()
        compiled = self._compile(self.program, keep_all=True, inputs=self._facts)
        self._evaluation = self._evaluate(compiled)
        return self._evaluation

    def complete(self, relation: str) -> View | Evaluation:
        """Return relations of which this one is complete."""
        arity = self.program.relation(relation).arity
        return self._with(self.relations(), Atom(relation, (Wildcard(),) * arity))

    def answering(self, goal: Atom) -> View | Evaluation:
        """Return relations of which the goal's is complete as far as the goal asks."""
        if self.view is not None or self._evaluation is not None:
            return self._with(self.relations(), goal)
        if self._later or self.settled:
            return self._with(self.make_view(), goal)
        return self._evaluate(self._compile(self.program, goal=goal, inputs=self._facts))

    def _with(self, found: View | Evaluation, goal: Atom) -> View | Evaluation:
        """Return the relations, unless the goal's may lack rows; then evaluate for the goal."""
        if goal.relation not in found.selected and not is_inline(self.program, goal.relation):
            return found
        base = self.base()
        compiled = self._compile(self.unsettled(), goal=goal, inputs=base)
        return self._evaluate(compiled, base)

    def make_view(self) -> View:
        """Return the view, made of all that is there if there was none."""
        if self.view is not None:
            return self.view
        started = time.perf_counter()
        settings = self.settings
        view = session.maintain(
            self._compile(self.unsettled(), keep_all=True),
            self._inputs(),
            strategy=settings.maintain,
            limits=settings.limits,
            threads=settings.threads,
            observer=settings.observer,
            functors=self.functors,
        )
        for batch in (self._restated(), self.later()):
            if batch:
                view.apply(batch)
        self._made_in = time.perf_counter() - started
        self.view, self._evaluation = view, None
        self.settled = len(self.program.rules)
        self._facts, self._later = {}, {}
        return view

    def base(self) -> dict[str, pa.Table]:
        """Return the base facts by relation: all, when there is a view.

        Without one, `later()` and those in the text of rules from `settled` on come on top.
        """
        if self.view is None:
            return self._inputs()
        tables = {name: self.view.base(name) for name in self._held()}
        return {n: self._declared(n, table) for n, table in tables.items() if table.num_rows}

    def _declared(self, relation: str, table: pa.Table) -> pa.Table:
        """Return the table with the relation's own schema, which says that nothing is null."""
        if not table.num_columns:
            return table
        schema = arrow_schema(columns_of(self.program, relation))
        return table.from_arrays(table.columns, schema=schema)

    def later(self) -> dict[str, Update]:
        """Return what was decided about base facts after all others, while there is no view."""
        batch = {}
        for name, later in self._later.items():
            came = [row for row, there in later.items() if there]
            went = [row for row, there in later.items() if not there]
            batch[name] = update_of(columns_of(self.program, name), came, went)
        return batch

    def stats(self) -> Stats:
        """Return what the last evaluation cost, or making the view."""
        found = self.relations()
        if found is not self.view:
            return found.stats  # type: ignore[union-attr]
        sizes = {name: RelationStats(found.size(name), 0) for name in self._held()}
        return Stats(evaluate_seconds=self._made_in, relations=sizes)

    # ── how ──

    def _held(self) -> list[str]:
        """Return the relations that a view holds: inline ones are gone by then."""
        names = [decl.name for decl in self.program.relations]
        return [name for name in names if not is_inline(self.program, name)]

    def _inputs(self) -> dict[str, pa.Table]:
        return {name: concat_facts(tables) for name, tables in self._facts.items()}

    def _compile(
        self,
        program: Program,
        *,
        goal: Atom | None = None,
        keep_all: bool = False,
        inputs: Collection[str] | None = None,
    ) -> session.Compiled:
        known = {decl.name for decl in program.relations}
        annotated = semiring_of(self.program) is not None
        defaults = self.settings.annotations if annotated else {}
        return session.compile(
            program,
            goal=goal,
            keep_all=keep_all,
            inputs=inputs,
            semiring=self.semiring,
            annotations={name: given for name, given in defaults.items() if name in known},
        )

    def _evaluate(
        self, compiled: session.Compiled, inputs: Mapping[str, pa.Table] | None = None
    ) -> Evaluation:
        settings = self.settings
        return session.evaluate(
            compiled,
            self._inputs() if inputs is None else inputs,
            engine=settings.engine,
            limits=settings.limits,
            threads=settings.threads,
            observer=settings.observer,
            functors=self.functors,
        )

    def unsettled(self) -> Program:
        """Return the program without the facts that are base facts by now."""
        rules = self.program.rules
        kept = tuple(r for r in rules[: self.settled] if not _is_plain_fact(r))
        return replace(self.program, rules=kept + rules[self.settled :])

    def _restated(self) -> dict[str, Update]:
        """Return the facts to take out that the text states by an expression, and were deleted.

        `unsettled` leaves facts such as `a(1 + 1).` in the program: whether they are facts, or
        rules such as `a(count : { b(_) }).`, shows only in a view.
        """
        old, new = self.program.rules[: self.settled], self.program.rules[self.settled :]
        odd = tuple(r for r in old if r.is_fact and not _is_plain_fact(r))
        if not odd:
            return {}
        added = self._stated(tuple(r for r in new if r.is_fact))
        batch = {}
        for name, rows in self._stated(odd).items():
            known = {row for table in self._facts.get(name, ()) for row in tuples_of(table)}
            extra = list(rows - known - added.get(name, set()))
            if extra:
                batch[name] = update_of(columns_of(self.program, name), [], extra)
        return batch

    def _stated(self, rules: tuple[Rule, ...]) -> dict[str, set[Row]]:
        """Return the base facts that rules without bodies state."""
        alone = replace(self.program, rules=rules, subsumptions=())
        compiled = self._compile(alone, keep_all=True)
        view = session.maintain(compiled, functors=self.functors)
        names = {head.relation for rule in rules for head in rule.heads}
        return {name: set(tuples_of(view.base(name))) for name in names}

    def _ruled(self) -> set[str]:
        """Return the relations whose changes do not tell which of their facts are base facts."""
        ruled = {h.relation for r in self.program.rules if not _is_plain_fact(r) for h in r.heads}
        # Of two annotations of a fact, one may be all that is seen.
        ruled |= {d.name for d in self.program.relations if d.provenance is not None}
        return ruled | {s.dominated.relation for s in self.program.subsumptions}

    def _there(
        self, view: View, batch: Batch, names: Collection[str] | None = None
    ) -> dict[str, set[Row]]:
        """Return which facts of the batch are base facts, of these relations or of all."""
        there = {}
        for name in batch if names is None else batch.keys() & names:
            update, width = batch[name], len(columns_of(self.program, name))
            tables = [t for t in (update.inserted, update.deleted) if t is not None]
            if not width:
                there[name] = set(tuples_of(view.base(name)))
            elif tables:
                found = view.matching(name, tuple(range(width)), concat_facts(tables))
                there[name] = set(tuples_of(found))
        return there

    def _inverse(self, there: Mapping[str, set[Row]], batch: Batch) -> dict[str, Update]:
        """Return what undoes a batch, given which of its facts were base facts before."""
        inverse = {}
        for name, before in there.items():
            update = batch[name]
            came = set(tuples_of(update.inserted)) if update.inserted is not None else set()
            went = set(tuples_of(update.deleted)) if update.deleted is not None else set()
            back = [row for row in went - came if row in before]
            away = [row for row in came if row not in before]
            inverse[name] = update_of(columns_of(self.program, name), back, away)
        return inverse

    def _undo(
        self, view: View, batch: Batch, changes: Changes, there: Mapping[str, set[Row]]
    ) -> None:
        inverse = self._inverse(there, batch)
        for name in changes.keys() & batch.keys() - there.keys():
            inverse[name] = Update(changes[name].deleted, changes[name].inserted)
        try:
            view.apply(inverse)
        except Exception:  # such as a limit: begin again from the facts that were there
            base = self.base()
            self.restore(self.program, self.settled, base)
            self.put(inverse)


def _is_plain_fact(rule: Rule) -> bool:
    plain = Constant | Nil | Record
    return rule.is_fact and all(
        isinstance(node, plain) for head in rule.heads for arg in head.args for node in walk(arg)
    )
