"""`trace`: a Spark session whose readers give traced frames and traced RDDs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, Literal

from whence.lineage.capture import faults
from whence.lineage.capture.staging import Numbers, Operator, Publisher

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import Column, SparkSession

    from whence.lineage.capture.frames.frame import TracedFrame
    from whence.lineage.capture.frames.reader import TracedReader
    from whence.lineage.capture.notebook import Notebook
    from whence.lineage.capture.off import Untraced
    from whence.lineage.capture.rdds.rdd import TracedRDD
    from whence.lineage.log.base import Log

HIDDEN: Final = "__whence_"
"""What the names of columns begin with that hold row numbers."""

FEW: Final = 0.1
"""A sample up to this share is noted in Spark's own process and written by the driver."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}", re.ASCII)


def trace(
    spark: SparkSession,
    *,
    workflow: str,
    job: str,
    log: str | PathLike[str] | Log = "lineage-log",
    sample: float = 1.0,
    enabled: bool = True,
    names: Mapping[str, str] | None = None,
    partitions: int = 1,
    strategy: Literal["vertical", "horizontal"] = "vertical",
) -> Tracer | Untraced:
    """Return a session that records which rows come from which, and otherwise works as `spark`.

    Edges go into the `log`, a folder or a `Log`, in a topic of this run of the job. With `sample`
    only that share of the input rows is followed. When it is not `enabled`, everything is Spark's
    own, at no cost. `names` says what datasets at paths are called; without, by the path.

    Example: `spark = trace(spark, workflow="tweets", job="count", log="lineage")`
    """
    if not enabled:
        from whence.lineage.capture.off import Untraced

        return Untraced(spark)
    if not (isinstance(sample, int | float) and 0 < sample <= 1):
        raise faults.bad_sample(sample)
    for what, name in (("workflow", workflow), ("job", job)):
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise faults.bad_name(what, name)
    return Tracer(spark, workflow, job, log, float(sample), dict(names or {}), partitions, strategy)


@dataclass(frozen=True, slots=True)
class Reference:
    """A hidden column: rows come from the entities of this space that it numbers."""

    column: str
    space: str


class Tracer:
    """A Spark session that traces; what it does not know it refuses, rather than lose lineage."""

    def __init__(
        self,
        spark: SparkSession,
        workflow: str,
        job: str,
        log: str | PathLike[str] | Log,
        sample: float,
        names: Mapping[str, str],
        partitions: int,
        strategy: str,
    ) -> None:
        from whence.engine.spark.ship import equip
        from whence.lineage.log import Topic, open_log

        equip(spark)
        self.spark = spark
        self.workflow = workflow
        self.job = job
        self.sample = sample
        self.names = names
        self._count = itertools.count(1)
        self._columns = itertools.count(1)
        opened = open_log(log) if isinstance(log, str | PathLike) else log
        about = {"workflow": workflow, "job": job}
        topic = opened.create(Topic(_free(opened, workflow, job), partitions, True, about))
        context = spark.sparkContext
        notebook = _notebook(context) if sample <= FEW else None
        self.publisher = Publisher(context, opened, topic, strategy == "horizontal", notebook)

    @property
    def topic(self) -> str:
        """The topic of this run in the log."""
        return self.publisher.topic.name

    @property
    def log(self) -> Log:
        """The log that edges go to."""
        return self.publisher.log

    # ── sources ──

    @property
    def read(self) -> TracedReader:
        """Spark's reader of files and tables, traced."""
        from whence.lineage.capture.frames.reader import TracedReader

        return TracedReader(self)

    def table(self, name: str) -> TracedFrame:
        """Return a table of Spark's catalog, traced."""
        return self.read.table(name)

    def frame(self, frame: Any, name: str, *, key: str | None = None) -> TracedFrame:
        """Return a DataFrame as the input `name`, its rows numbered by an integer column `key`.

        Without `key` rows are numbered by partition and position. A frame that Spark might compute
        in another order the next time is kept in its storage for that.
        """
        from whence.lineage.capture.frames.sources import from_frame

        return from_frame(self, frame, name, key)

    def createDataFrame(self, data: Any, *arguments: Any, **options: Any) -> TracedFrame:
        """Return rows of the driver, traced, as the input `createDataFrame-N`."""
        frame = self.spark.createDataFrame(data, *arguments, **options)
        return self.frame(frame, self.operator("createDataFrame").name)

    def textFile(self, path: str, *arguments: Any, **options: Any) -> TracedRDD:
        """Return the lines of text files, traced."""
        from whence.lineage.capture.rdds.sources import text_file

        return text_file(self, path, *arguments, **options)

    def parallelize(
        self, values: Iterable[Any], numSlices: int | None = None, *, name: str | None = None
    ) -> TracedRDD:
        """Return values of the driver, traced, as the input `name`."""
        from whence.lineage.capture.rdds.sources import from_rdd

        rdd = self.spark.sparkContext.parallelize(values, numSlices)
        return from_rdd(self, rdd, name or self.operator("parallelize").name)

    @property
    def sparkContext(self) -> Tracer:
        """The context for RDDs: this object has its readers."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name in ("conf", "version", "stop", "catalog", "setLogLevel", "defaultParallelism"):
            owner = self.spark if hasattr(self.spark, name) else self.spark.sparkContext
            return getattr(owner, name)
        if name == "broadcast" or name == "accumulator":
            return getattr(self.spark.sparkContext, name)
        for owner in (self.spark, self.spark.sparkContext):
            if not name.startswith("_") and hasattr(owner, name):
                hint = "read with `.read`, or name a frame: `tracer.frame(spark.sql(…), 'name')`"
                raise faults.not_traced(f"SparkSession.{name}", hint)
        raise AttributeError(name)

    # ── for the frames ──

    def operator(self, name: str, numbers: Numbers = Numbers.SAME) -> Operator:
        """Return a new operator of the job."""
        place = next(self._count)
        return Operator(f"{self.job}/{name}-{place}", numbers, place)

    def reference(self, space: str) -> Reference:
        """Return a new hidden column."""
        return Reference(f"{HIDDEN}{next(self._columns)}", space)

    def sampled(self, column: str) -> Column:
        """Return the numbers in a column of those input rows that are followed, null for others."""
        from pyspark.sql import functions as F

        share = int(self.sample * (1 << 31))
        text = f"if(shiftrightunsigned(xxhash64({column}), 33) < {share}, {column}, null)"
        return F.expr(text)

    def act(self, operators: Sequence[Operator], action: Any) -> Any:
        """Run an action and publish what its tasks wrote, or nothing of it."""
        try:
            found = action()
        except BaseException:
            self.publisher.forget(operators)
            raise
        self.publisher.publish(operators)
        return found


def _notebook(context: SparkContext) -> Notebook:
    from whence.lineage.capture.jvm_taps import jvm_taps
    from whence.lineage.capture.notebook import Notebook

    return Notebook(jvm_taps(context))


def _free(log: Log, workflow: str, job: str) -> str:
    """Return the name of a topic that no earlier run of the job has."""
    taken = set(log.topics())
    name = f"{workflow}.{job}"
    if name not in taken:
        return name
    return next(n for n in (f"{name}.{i}" for i in itertools.count(2)) if n not in taken)
