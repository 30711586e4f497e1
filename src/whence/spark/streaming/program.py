"""A program as a stream keeps it: compiled, cut for its tasks, and what its facts look like."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from whence import session
from whence.diagnostics import Diagnostic, UsageError, nearest
from whence.engine.spark import frames
from whence.engine.spark.cut.groups import cut
from whence.facts.annotations import Shape
from whence.facts.schema import Column, columns_of, shown_columns
from whence.facts.stated import apart_from_facts
from whence.loading import is_inline
from whence.rewrite.read_in import AnySemiring
from whence.rewrite.stated import Default
from whence.syntax.nodes import Kind, Program
from whence.view.partitioned_plan import Kept, kept, speaks, stated

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Streamed:
    """A program whose views a stream keeps."""

    source: Program
    """Without the facts of its text."""
    facts: Mapping[str, pa.Table]
    """The facts of its text, as people give them."""
    constants: Mapping[str, pa.Table]
    """Facts that the plan needs and nobody changes."""
    groups: tuple[Kept, ...]
    inputs: frozenset[str]
    """The relations that may be given facts."""
    outputs: tuple[str, ...]
    """The relations whose changes are told."""
    tasks: int
    speaks: bool
    """Whether tasks have to tell each other anything."""
    shape: Shape | None
    """How annotated tables look inside and outside."""
    kinds: Mapping[str, tuple[Kind, ...]] = field(default_factory=dict)
    """Those of the columns that base facts have inside."""
    inside: Mapping[str, frames.Columns] = field(default_factory=dict)
    """How relations look inside, with annotations as columns."""

    def columns(self, relation: str) -> tuple[Column, ...]:
        """Return the columns of a relation's base facts, as people give them."""
        return columns_of(self.source, relation)

    def shown_columns(self, relation: str) -> tuple[Column, ...]:
        """Return the columns of a relation's changes."""
        if self.shape is None:
            return columns_of(self.source, relation)[: self.source.relation(relation).arity]
        return shown_columns(self.source, relation)

    def taken(self, relation: str, table: pa.Table) -> pa.Table:
        """Return base facts as the views take them."""
        if self.shape is not None:
            table = self.shape.taken(relation, table)
        else:
            arity = self.source.relation(relation).arity
            table = table.select(range(arity)) if table.num_columns > arity > 0 else table
        return frames.normal(table, self.inside[relation])

    def shown(self, relation: str, table: pa.Table) -> pa.Table:
        """Return tuples of the views as people see them."""
        table = frames.shown(table, self.inside[relation])
        return table if self.shape is None else self.shape.shown(relation, table)


def streamed(
    program: Program | str | Path,
    *,
    tasks: int,
    outputs: Collection[str] | None = None,
    semiring: str | AnySemiring | None = None,
    annotations: Mapping[str, Default] | None = None,
) -> Streamed:
    """Return a program as a stream of so many tasks keeps it; all that is wrong with it is told."""
    from whence.analysis.kinds import relation_kinds

    rules, facts = apart_from_facts(_read(program))
    heads = {head.relation for rule in rules.rules for head in rule.heads}
    heads |= {s.dominated.relation for s in rules.subsumptions}
    inputs = {d.name for d in rules.relations if d.name not in heads} | {*facts}
    inputs |= {d.relation for d in rules.directives if d.action == "input"}
    compiled = session.compile(
        rules, keep_all=True, inputs=tuple(inputs), semiring=semiring, annotations=annotations
    )
    if compiled.semiring is not None and compiled.semiring.chain is None:
        raise UsageError(
            Diagnostic(
                "W1040",
                f"a stream cannot keep annotations of `{compiled.semiring.name}` current",
                hint="use a chain such as `tropical`, or none: `semiring='plain'`",
            )
        )
    known = [d.name for d in compiled.source.relations if not is_inline(compiled.source, d.name)]
    told = _outputs(compiled.source, known, outputs, heads)
    plan = cut(compiled.plan, tasks=tasks, inputs=inputs)
    groups = kept(plan, tasks, compiled.plan.program, told)
    kinds = relation_kinds(compiled.plan.program)
    return Streamed(
        source=compiled.source,
        facts=facts,
        constants=stated(plan, compiled.plan.program),
        groups=groups,
        inputs=frozenset(inputs),
        outputs=told,
        tasks=tasks,
        speaks=tasks > 1 and speaks(groups),
        shape=None if compiled.semiring is None else compiled.shape,
        kinds={name: tuple(kinds[name]) for name in inputs if name in kinds},
        inside=frames.columns_of(compiled.plan.program),
    )


def _read(program: Program | str | Path) -> Program:
    if isinstance(program, Program):
        return program
    if isinstance(program, Path):
        return session.read_program(program)
    return session.parse(program)


def _outputs(
    program: Program, known: list[str], asked: Collection[str] | None, heads: Collection[str]
) -> tuple[str, ...]:
    """Return what to tell the changes of: what is asked for, what is output, or what is derived."""
    if asked is None:
        asked = dict.fromkeys(d.relation for d in program.directives if d.action == "output")
        asked = asked or [name for name in known if name in heads]
    for name in asked:
        if name not in known:
            like = nearest(name, known)
            raise UsageError(
                Diagnostic(
                    "W1041",
                    f"the program has no relation `{name}` to tell the changes of",
                    hint=f"did you mean `{like}`?" if like else f"one of {', '.join(known)}",
                )
            )
    return tuple(dict.fromkeys(asked))
