"""Answers about the facts of a program, over one state of its relations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from whence.diagnostics import Diagnostic, LimitError, UsageError
from whence.engine.base import Evaluation
from whence.engine.local.engine import LocalEvaluation
from whence.explain.asked import asked_fact
from whence.explain.base import MAX_INSTANCES, MAX_TUPLES, NEAREST, OVER, Asked
from whence.explain.bounds import Bounds
from whence.explain.cone import Grounded, cone_of, ground
from whence.explain.engine_tuples import EngineTuples
from whence.explain.least import Settled, best_annotations, least_heights
from whence.explain.lookup import Tuples
from whence.explain.model import Cone, Derived, Fact, Proof, WhyNot
from whence.explain.proof import ByRank, Choice, Unranked, prove, unsupported
from whence.explain.rules import Rules, rules_of
from whence.explain.search import Instance, Search
from whence.explain.whynot import why_not
from whence.facts.records import record_text
from whence.functor import UserFunctors
from whence.semiring.base import Law, Semiring
from whence.syntax.nodes import Program
from whence.view.base import View
from whence.view.live import LiveView

if TYPE_CHECKING:
    import pyarrow as pa

_CHEAP = 1_000
"""Instances of a cone that are searched unasked, where ranks do not show that a proof is lowest."""


def explainer_of(
    program: Program,
    found: View | Evaluation,
    inputs: Mapping[str, pa.Table],
    functors: UserFunctors | None = None,
    rules: Rules | None = None,
    *,
    stated: bool = True,
    exact: bool = True,
) -> Explainer:
    """Return who explains the relations of an evaluation or of a view, as they are now.

    `inputs` are the facts that an evaluation was given beside those of the text, or without
    `stated` all of them; a view knows. It is `exact` if its rules were those of the program.
    """
    rules = rules or rules_of(program)
    known = functors or UserFunctors()
    inner = getattr(found, "inner", found)
    if isinstance(inner, LiveView):
        return Explainer(rules, EngineTuples.of_view(program, inner), known, stated=False)
    assert isinstance(inner, LocalEvaluation)
    tuples = EngineTuples(program, inner, given=given_in(inputs), exact=exact)
    return Explainer(rules, tuples, known, stated=stated)


def given_in(inputs: Mapping[str, pa.Table]) -> Callable[[Fact], bool]:
    """Return who knows whether a fact is in tables; a table is read when first asked about."""
    read: dict[str, set[tuple[object, ...]]] = {}

    def given(fact: Fact) -> bool:
        table = inputs.get(fact.relation)
        if table is None:
            return False
        if fact.relation not in read:
            columns = [column.to_pylist() for column in table.columns[: len(fact.row)]]
            read[fact.relation] = set(zip(*columns, strict=True)) if columns else {()}
        shown = [record_text(v) if v is None or isinstance(v, tuple) else v for v in fact.row]
        return tuple(shown) in read[fact.relation]

    return given


class Explainer:
    """Explains facts; `stated` when facts of the program's text count as they stand there."""

    def __init__(
        self, rules: Rules, tuples: Tuples, functors: UserFunctors, *, stated: bool = True
    ) -> None:
        self._rules = rules
        self._tuples = tuples
        self._search = Search(rules, functors, tuples)
        self._states = stated
        self._stated: frozenset[Fact] | None = None

    def why(
        self,
        fact: Asked,
        *,
        minimal: bool = False,
        depth: int | None = None,
        semiring: Semiring[Any] | None = None,
        annotation: Callable[[Fact], Any] | None = None,
        over: int = OVER,
        limit: int = MAX_INSTANCES,
    ) -> Proof:
        """Return a proof of a fact that holds.

        It is of minimal height after a fresh evaluation, as far as that shows at little cost, or
        when `minimal` asks for it; in an ordered semiring of the best annotation, given those of
        base facts. What is `depth` steps away is cut.
        """
        found = self._that_holds(fact)
        if semiring is not None:
            return self._best(found, semiring, annotation, depth, over, limit)
        if minimal:
            return self._lowest(found, depth, over, limit)
        ranked = ByRank(self._search, self.is_base, limit)
        proof = self._prove(found, ranked, ranked, depth, over, limit)
        if not self._tuples.exact or not isinstance(proof, Derived):
            return proof
        if proof.height > Bounds(self._search, self.is_base).height(found):
            try:
                return self._lowest(found, depth, over, _CHEAP)
            except LimitError:
                return proof
        return proof

    def why_not(
        self, fact: Asked, *, depth: int = 0, nearest: int = NEAREST, limit: int = MAX_TUPLES
    ) -> WhyNot:
        """Return why a fact does not hold; `depth` says how far to go on with what is missing."""
        found = asked_fact(fact, self._rules.program, self._tuples)
        if self.holds(found):
            raise UsageError(
                Diagnostic("W0952", f"`{found}` holds", hint="`why` shows how it is derived")
            )
        return why_not(self._search, found, depth=depth, nearest=nearest, limit=limit)

    def derivations(self, fact: Asked, *, limit: int = MAX_INSTANCES) -> Cone:
        """Return every rule instance that can take part in a derivation of the fact."""
        return cone_of(self._search, self._ground(self._that_holds(fact), limit))

    def is_base(self, fact: Fact) -> bool:
        """Say whether a fact that holds was given."""
        if not self._rules.of(fact.relation):
            return True
        if self._states and self._rules.stated:
            if self._stated is None:
                self._stated = frozenset(self._all_stated())
            if fact in self._stated:
                return True
        return self._tuples.is_base(fact)

    def holds(self, fact: Fact) -> bool:
        """Say whether a fact is there; one of an inline relation if something derives it."""
        if fact.relation in self._rules.inlined:
            return any(True for _ in self._search.instances(fact))
        return self._tuples.holds(fact)

    # ── how ──

    def _that_holds(self, asked: Asked) -> Fact:
        found = asked_fact(asked, self._rules.program, self._tuples)
        if not self.holds(found):
            raise UsageError(
                Diagnostic(
                    "W0951",
                    f"`{found}` does not hold",
                    notes=_lacking(found.relation, self._tuples),
                    hint="`whynot` shows what is missing",
                )
            )
        return found

    def _ground(self, fact: Fact, limit: int, *, beyond_base: bool = True) -> Grounded:
        return ground(self._search, self.is_base, fact, limit, beyond_base=beyond_base)

    def _lowest(self, fact: Fact, depth: int | None, over: int, limit: int) -> Proof:
        """Return a proof of least height of the whole tree."""
        settled = least_heights(self._ground(fact, limit, beyond_base=False))
        if settled.value(fact) is None:
            raise unsupported(fact)
        return self._proved(fact, settled, depth, over, limit)

    def _best(
        self,
        fact: Fact,
        semiring: Semiring[Any],
        annotation: Callable[[Fact], Any] | None,
        depth: int | None,
        over: int,
        limit: int,
    ) -> Proof:
        """Return a proof whose product is the annotation of the fact."""
        if Law.ABSORPTIVE | Law.SELECTIVE not in semiring.laws:
            raise UsageError(
                Diagnostic(
                    "W0955",
                    f"no single proof has the annotation of a fact in `{semiring.name}`",
                    hint="a proof is best where annotations are ordered, as in `tropical`",
                )
            )
        given = annotation or (lambda base: semiring.variable(str(base)))
        settled = best_annotations(self._ground(fact, limit), semiring, given)
        if settled.value(fact) is None:
            raise unsupported(fact)

        def annotated(proved: Fact) -> object:
            known = settled.value(proved) if proved in settled.graph.numbers else None
            return None if known is None else known[0]

        return self._proved(fact, settled, depth, over, limit, annotated)

    def _proved(
        self,
        fact: Fact,
        settled: Settled[Any],
        depth: int | None,
        over: int,
        limit: int,
        annotation: Callable[[Fact], object] = lambda _: None,
    ) -> Proof:
        """Return the proof that a search has settled; what aggregates are over is proved by rank.

        That lies below all that reads the aggregate, so the two kinds of choice do not mix.
        """
        ranked = ByRank(self._search, self.is_base, limit)

        def choice(needed: Fact) -> Instance | None:
            known = needed in settled.graph.numbers and settled.value(needed) is not None
            return settled.choice(needed) if known else ranked(needed)

        return self._prove(fact, choice, ranked, depth, over, limit, annotation)

    def _prove(
        self,
        fact: Fact,
        choice: Choice,
        ranked: ByRank,
        depth: int | None,
        over: int,
        limit: int,
        annotation: Callable[[Fact], object] = lambda _: None,
    ) -> Proof:
        while True:
            try:
                return prove(
                    self._search,
                    fact,
                    choice,
                    depth=depth,
                    over=over,
                    limit=limit,
                    annotation=annotation,
                )
            except Unranked as unranked:
                ranked.search_in(unranked.component)

    def _all_stated(self) -> Iterator[Fact]:
        """Yield the facts of the text that an engine derives, because they are computed."""
        for name, heads in self._rules.stated.items():
            for head in heads:
                for row in self._search.row(head.args, {}, frozenset()):
                    yield Fact(name, row)


def _lacking(relation: str, tuples: Tuples) -> tuple[str, ...]:
    """Return what is to say of a relation that is not all there."""
    if relation not in tuples.selected:
        return ()
    return (f"only the best tuples of `{relation}` are followed, so it may lack others",)
