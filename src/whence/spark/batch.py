"""`whence.spark.evaluate`: a program over frames, once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence import session
from whence.compiled import Compiled
from whence.diagnostics import DataError, Diagnostic, UsageError, nearest
from whence.engine.base import Limits, Observer
from whence.engine.spark.model import SparkPlan, Strategy
from whence.facts.schema import Column, columns_of, shown_columns
from whence.functor.user import UserFunctors
from whence.rewrite.prune import outputs
from whence.rewrite.read_in import AnySemiring
from whence.rewrite.stated import Default
from whence.syntax.nodes import Program

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from whence.engine.spark.evaluation import SparkEvaluation
    from whence.engine.spark.sources import FrameInput
    from whence.engine.spark.stats import SparkStats
    from whence.facts.annotations import Shape


class Relations(Mapping[str, "DataFrame"]):
    """What `evaluate` gives: the relations as frames, by name.

    They stay in Spark's memory, or on its disks, until `close`; then the frames are of no use any
    more. Leaving a `with` block closes, too.
    """

    def __init__(self, names: tuple[str, ...], found: SparkEvaluation, compiled: Compiled) -> None:
        self._names = names
        self._shape = None if compiled.semiring is None else _sendable(compiled.shape)
        self._frames: dict[str, DataFrame] = {}
        self.evaluation = found
        self.compiled = compiled

    @property
    def plan(self) -> SparkPlan:
        """How the program was cut into groups, and why."""
        return self.evaluation.plan

    @property
    def stats(self) -> SparkStats:
        """What it cost: group by group, task by task."""
        return self.evaluation.stats

    @property
    def selected(self) -> frozenset[str]:
        """The relations that may lack rows, because only the best ones were followed."""
        return self.evaluation.selected

    def __getitem__(self, relation: str) -> DataFrame:
        if relation not in self._names:
            raise KeyError(relation)
        return self.frame(relation)

    def frame(self, relation: str) -> DataFrame:
        """Return a relation as a Spark frame."""
        if relation not in self._frames:
            self._frames[relation] = self._frame(relation)
        return self._frames[relation]

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return a relation as an Arrow table at the driver."""
        found = self.evaluation.table(relation, ordered=ordered)
        return found if self._shape is None else self._shape.shown(relation, found)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        sizes = (f"{name}: {self.size(name):,} tuples" for name in self._names)
        return f"<Relations {', '.join(sizes)}>"

    def size(self, relation: str) -> int:
        """Return the number of tuples, which is known without another job."""
        return self.evaluation.size(relation)

    def close(self) -> None:
        """Give back what the relations take."""
        self.evaluation.close()

    def __enter__(self) -> Relations:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _frame(self, relation: str) -> DataFrame:
        from whence.engine.spark.frames import Columns, spark_schema

        shape = self._shape
        if shape is None:
            return self.evaluation.frame(relation)
        change = functools.partial(shape.shown, relation)
        inside = self.evaluation.columns[relation]
        if shape.carriers is not None:
            outside = shown_columns(shape.program, relation)
            names = tuple(column.name for column in outside)
            kinds = tuple(column.kind for column in outside)
        else:  # numbers too large for a column come as text, so the table says what they are
            arity = shape.program.relation(relation).arity + (not shape.hides(relation))
            names, kinds = inside.names[:arity], inside.kinds[:arity]
        columns = Columns(relation, names, (), kinds)
        return self.evaluation.frame(relation, change=change, schema=spark_schema(columns))


def evaluate(
    spark: SparkSession,
    program: str | Path | Program | Compiled,
    frames: Mapping[str, object] | None = None,
    *,
    strategy: str | Strategy | None = None,
    tasks: int | None = None,
    semiring: str | AnySemiring | None = None,
    annotations: Mapping[str, Default] | None = None,
    functors: UserFunctors | Mapping[str, Callable[..., object]] | None = None,
    limits: Limits = Limits(),
    observer: Observer | None = None,
) -> Relations:
    """Evaluate a program over frames on Spark, and return its relations as frames.

    `program` is its text, the `Path` of its file, or a program. `frames` are its facts by relation:
    Spark frames, pandas and polars frames, Arrow tables, or lists of rows. A frame's columns are
    found by name where its names are the attributes, else taken in order. What comes out are the
    relations with `.output`, or all with rules where there is none.

    A number is a bigint, an unsigned number a decimal(20,0), a float a double, a symbol or a record
    a string, `[1, nil]`. A relation without attributes has one column, `()`, and one row or none.

    `strategy` is one of decomposed, gang, rounds and alone; without it each part of the program
    gets the one that suits it, and `.plan` of the result says which and why. `tasks` is the number
    of parts, as many as Spark runs at once where nothing is said. `semiring` and `annotations` are
    those of `whence.compile`; `functors` are Python functions by name.
    """
    frames = frames or {}
    compiled = _compiled(program, tuple(frames), semiring, annotations)
    return evaluate_compiled(
        spark,
        compiled,
        frames,
        strategy=strategy,
        tasks=tasks,
        functors=functors,
        limits=limits,
        observer=observer,
    )


def evaluate_compiled(
    spark: SparkSession,
    compiled: Compiled,
    frames: Mapping[str, object],
    *,
    strategy: str | Strategy | None = None,
    tasks: int | None = None,
    functors: UserFunctors | Mapping[str, Callable[..., object]] | None = None,
    limits: Limits = Limits(),
    threads: int | None = None,
    observer: Observer | None = None,
) -> Relations:
    """Evaluate a compiled program over frames, as `evaluate` does."""
    from whence.engine.spark.engine import SparkEngine

    chosen = strategy_named(strategy)
    registry = _registry(functors)
    session.check_functors(compiled.plan.program, registry)
    asked = asked_relations(compiled)
    engine = SparkEngine(spark, strategy=chosen, tasks=tasks, functors=registry)
    given = {name: _input(compiled, name, value) for name, value in frames.items()}
    try:
        if compiled.semiring is None or compiled.semiring.chain is not None:
            found = engine.evaluate(
                compiled.plan,
                given,
                limits=limits,
                threads=threads,
                observer=observer,
                asked=asked,
            )
        else:
            found = engine.evaluate_annotated(
                compiled.plan,
                {name: collected(value) for name, value in given.items()},
                compiled.semiring,
                name=compiled.semiring_name,
                limits=limits,
                threads=threads,
                observer=observer,
                asked=asked,
            )
    except DataError as error:
        from whence.spark.badrows import with_places

        raise with_places(error, compiled, given) from None
    return Relations(asked, found, compiled)


def strategy_named(strategy: str | Strategy | None) -> Strategy | None:
    """Return the strategy of that name."""
    if strategy is None or isinstance(strategy, Strategy):
        return strategy
    try:
        return Strategy(strategy)
    except ValueError:
        raise UsageError(
            Diagnostic(
                "W1023",
                f"there is no strategy `{strategy}`",
                hint=f"one of {', '.join(s.value for s in Strategy)}",
            )
        ) from None


def asked_relations(compiled: Compiled) -> tuple[str, ...]:
    """Return the relations that come out: those with `.output`, else all that have rules."""
    source = compiled.source
    wanted = outputs(source) or {h.relation for rule in source.rules for h in rule.heads}
    there = {decl.name for decl in compiled.plan.program.relations}
    return tuple(
        decl.name
        for decl in source.relations
        if decl.name in wanted and decl.name in there and "inline" not in decl.qualifiers
    )


def _compiled(
    program: str | Path | Program | Compiled,
    inputs: tuple[str, ...],
    semiring: str | AnySemiring | None,
    annotations: Mapping[str, Default] | None,
) -> Compiled:
    match program:
        case Compiled():
            return program
        case Path():
            program = session.read_program(program)
        case str():
            program = session.parse(program)
        case Program():
            pass
        case _:
            raise UsageError(
                Diagnostic(
                    "W0808",
                    f"a program is not loaded from {type(program).__name__}",
                    hint="give its text, the `pathlib.Path` of its file, or a `Program`",
                )
            )
    for name in inputs:
        _check_relation(program, name)
    return session.compile(
        program,
        keep_all=not outputs(program),
        inputs={*inputs, *(d.relation for d in program.directives if d.action == "input")},
        semiring=semiring,
        annotations=annotations,
    )


def _check_relation(program: Program, name: str) -> None:
    known = {decl.name: decl for decl in program.relations}
    if name not in known:
        like = nearest(str(name), known)
        raise UsageError(
            Diagnostic(
                "W0804",
                f"the program has no relation `{name}`",
                hint=f"did you mean `{like}`?" if like else "declare it with `.decl`",
            )
        )
    if "inline" in known[name].qualifiers:
        what = f"`{name}` is inline: it stands for its rules and holds no facts"
        raise UsageError(Diagnostic("W0817", what, hint="leave `inline` out of its `.decl`"))


def _registry(
    functors: UserFunctors | Mapping[str, Callable[..., object]] | None,
) -> UserFunctors:
    if isinstance(functors, UserFunctors):
        return functors
    registry = UserFunctors()
    for name, function in (functors or {}).items():
        registry = registry.add(name, function)
    return registry


# ── facts ──


def _input(compiled: Compiled, relation: str, value: object) -> pa.Table | FrameInput:
    """Return facts as the engine takes them; a frame is checked by its schema."""
    from pyspark.sql import DataFrame

    from whence.engine.spark.sources import FrameInput

    columns = columns_of(compiled.source, relation, compiled.annotations.get(relation))
    plain = compiled.semiring is None
    if plain and compiled.source.relation(relation).provenance is not None:
        value = _unannotated(value, len(columns))
    if not isinstance(value, DataFrame):
        from whence.rows import as_table

        table = as_table(relation, columns, value)
        return compiled.taken(relation, table)
    frame = _in_order(value, relation, columns)
    if plain and len(frame.columns) == len(columns) and columns == _attributes(columns):
        return FrameInput(frame)
    shape = None if plain else _sendable(compiled.shape)
    return FrameInput(frame, functools.partial(_take, relation, columns, shape))


def _unannotated(value: object, arity: int) -> object:
    """Return facts without the annotations that a plain run passes over."""
    import pyarrow
    from pyspark.sql import DataFrame

    if isinstance(value, DataFrame) and len(value.columns) == arity + 1:
        from whence.engine.spark.frames import numbered

        return numbered(value).select(*(str(i) for i in range(arity)))
    if isinstance(value, pyarrow.Table) and value.num_columns == arity + 1:
        return value.select(range(arity))
    if isinstance(value, list):
        return [row[:arity] if isinstance(row, list | tuple) else row for row in value]
    return value


def _attributes(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    return tuple(column for column in columns if column.semiring is None)


def _in_order(frame: DataFrame, relation: str, columns: tuple[Column, ...]) -> DataFrame:
    """Return the frame with its columns in the order of the relation's, if they are there."""
    from whence.engine.spark.frames import check_frame

    there = frame.columns
    for wanted in (columns, _attributes(columns)):  # annotations may be missing
        names = [column.name for column in wanted]
        if len(there) == len(names) and len(set(there)) == len(there) and set(there) == set(names):
            frame = frame.select(*(frame[f"`{name}`"] for name in names))
    fewer = len(there) < len(columns) and columns[-1].semiring is not None
    expected = _attributes(columns) if fewer else columns
    check_frame(frame, relation, [(column.name, column.kind) for column in expected])
    return frame


def _take(
    relation: str, columns: tuple[Column, ...], shape: Shape | None, table: pa.Table
) -> pa.Table:
    """Return rows of a frame as the facts that the plan wants; this runs in tasks."""
    from whence.rows import as_table

    found = as_table(relation, columns, table)
    if shape is not None:
        return shape.taken(relation, found)
    arity = len(_attributes(columns))
    return found.select(range(arity)) if arity else found


def _sendable(shape: Shape) -> Shape:
    """Return a shape without the rules of its program, which may nest deeply."""
    program = replace(shape.program, rules=(), subsumptions=(), directives=())
    return replace(shape, program=program)


def collected(value: pa.Table | FrameInput) -> pa.Table:
    """Return facts as a table at the driver."""
    import pyarrow

    from whence.engine.spark.frames import numbered

    if isinstance(value, pyarrow.Table):
        return value
    table = numbered(value.frame).toArrow()
    return table if value.take is None else value.take(table)


def given_frames(given: Mapping[str, Any]) -> dict[str, DataFrame]:
    """Return the frames of Spark's among what is given."""
    from whence.engine.spark.sources import FrameInput

    return {name: value.frame for name, value in given.items() if isinstance(value, FrameInput)}
