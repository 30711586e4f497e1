"""A gang as a Spark job: one barrier stage whose tasks meet, evaluate together, and give blobs."""

from __future__ import annotations

import functools
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whence.diagnostics import Diagnostic, UsageError, WhenceError
from whence.engine.base import Limits, Observer
from whence.engine.local.engine import limits_told
from whence.engine.local.guard import peak_bytes
from whence.engine.spark.decomposed import Written, pickled, unpacked_functors, written_of
from whence.engine.spark.gang.endpoint import Access, Tls
from whence.engine.spark.gang.exchange import Exchange, Patience
from whence.engine.spark.gang.inbox import PeerLost, PeerStopped
from whence.engine.spark.gang.rendezvous import Rendezvous, Reporter, join, tell_done
from whence.engine.spark.gang.task import GangEvaluation
from whence.engine.spark.model import Group
from whence.engine.spark.session import is_local
from whence.engine.spark.shuffle import (
    BLOBS,
    TOLD,
    Outputs,
    Reader,
    Summary,
    Tables,
    few_bytes,
    news_of,
    run_task,
    summary_of,
    task_number,
)
from whence.engine.spark.stats import TaskStats, worker_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.engine.spark.sources import Delivery

_LOOPBACK = "127.0.0.1"
_JOIN = 120.0
"""Seconds in which all tasks of a stage have to come: Spark starts them together."""


@dataclass(frozen=True, slots=True)
class Member:
    """What a task of a gang is told to do."""

    group: bytes
    functors: bytes
    written: tuple[Written, ...]
    limits: Limits
    tasks: int
    service: str
    access: Access
    patience: Patience
    local: bool
    watched: bool
    few: int
    """How many bytes of a blob come to the driver with the news of it."""

    def __call__(self, task: int, tables: Tables) -> Outputs:
        """Meet the other tasks, evaluate the group's program with them, and give this share."""
        import pickle

        started = time.perf_counter()
        group: Group = pickle.loads(self.group)
        with self._exchange(task) if self.tasks > 1 else _alone() as exchange:
            try:
                with limits_told():
                    functors = unpacked_functors(self.functors)
                    found = GangEvaluation(group, tables, functors, exchange)
                reporter = Reporter(self.service, self.access)
                found.evaluate(self.limits, reporter if self.watched and task == 0 else None)
            except PeerStopped:  # that task tells why
                return
            except WhenceError as error:
                if exchange is not None:
                    exchange.stop(error.diagnostics[0].message, mistake=True)
                raise
            except BaseException as error:
                if exchange is not None:
                    exchange.stop(f"{type(error).__name__}: {error}", mistake=False)
                raise
        for one in self.written:
            if task == 0 or not one.everywhere:
                yield one.index, found.table(one.name)
        yield TOLD, self._told(found, tables, time.perf_counter() - started)

    def tell(self, news: pa.Table) -> None:
        """Tell the driver what this task has given, which saves it a job that would ask."""
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        tell_done(
            self.service,
            self.access,
            news,
            task=context.partitionId(),
            attempt=context.taskAttemptId(),
        )

    def _exchange(self, task: int) -> Exchange:
        """Return the task's exchange with the others, once they have met."""
        from pyspark import BarrierTaskContext

        context = BarrierTaskContext.get()
        infos = context.getTaskInfos()
        if len(infos) < self.tasks:
            # An executor has died after its work, and Spark wants its share alone; a stage that
            # fails is run again with all its tasks.
            raise PeerLost(f"{len(infos)} of {self.tasks} tasks were started")
        host = _LOOPBACK if self.local else infos[task].address.rsplit(":", 1)[0]
        made = Exchange(task, self.tasks, host=host, access=self.access, patience=self.patience)
        try:
            token, locations = join(
                self.service,
                self.access,
                stage=context.stageId(),
                task=task,
                attempt=context.taskAttemptId(),
                location=made.location,
                wait=_JOIN,
            )
            made.connect(locations, token)
        except BaseException:
            made.close()
            raise
        return made

    def _told(self, found: GangEvaluation, tables: Tables, seconds: float) -> TaskStats:
        told = found.told()
        derived = {name: s.tuples for name, s in told.relations.items() if name not in tables}
        return TaskStats(
            seconds=seconds,
            prepare_seconds=found.stats.prepare_seconds,
            tuples=told.derived,
            rounds=told.rounds,
            read={name: (table.num_rows, table.nbytes) for name, table in tables.items()},
            peak_memory_bytes=peak_bytes(),
            worker=worker_name(),
            sent_rows=sum(told.sent.values()),
            sent_bytes=told.sent_bytes,
            received_rows=sum(told.received.values()),
            received_bytes=told.received_bytes,
            spilled_bytes=told.spilled_bytes,
            waited_seconds=told.waited_seconds,
            relations=derived,
        )


class _alone:
    """No exchange, for the only task of a gang."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang that is to run: the frame of blobs that it gives, and the service behind it.

    The service is needed as long as Spark may have to compute the frame again.
    """

    frame: DataFrame
    service: Rendezvous

    def summary(self) -> Summary | None:
        """Return what the tasks have told, if they have run and all was heard."""
        news = self.service.news()
        return None if news is None else summary_of(news)

    def close(self) -> None:
        """End the service."""
        self.service.close()


def gang_tasks(spark: SparkSession, tasks: int) -> int:
    """Return how many tasks can run at once, not more than asked for; refuse what never could.

    Of a gang, all tasks wait for each other: with fewer slots than tasks they would for ever.
    """
    context: Any = spark.sparkContext
    asked = context._conf.get("spark.dynamicAllocation.enabled", "false")
    if asked.lower() == "true" and not is_local(spark):  # which takes no notice of it
        raise UsageError(
            Diagnostic(
                "W1010",
                "tasks that run together need executors that stay: allocation is dynamic here",
                hint="set `spark.dynamicAllocation.enabled=false`, or ask for another strategy: "
                "`--strategy rounds`",
            )
        )
    scheduler = context._jsc.sc()
    profile = scheduler.resourceProfileManager().defaultResourceProfile()
    until = time.monotonic() + 30.0
    while True:
        slots = int(scheduler.maxNumConcurrentTasks(profile))
        if slots >= tasks or (slots and is_local(spark)):
            return min(slots, tasks)
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    if not slots:
        raise UsageError(
            Diagnostic(
                "W1011",
                "Spark has no executor for tasks that run together",
                hint="see that the cluster has free cores, or ask for another strategy: "
                "`--strategy rounds`",
            )
        )
    return slots


def run_gang(
    spark: SparkSession,
    group: Group,
    delivery: Delivery,
    *,
    tasks: int,
    wanted: frozenset[str] | None,
    functors: bytes,
    limits: Limits,
    observer: Observer | None = None,
) -> Gang:
    """Return the frame of blobs that the tasks of a group give, still to be computed.

    `tasks` is what `gang_tasks` gave, and how many the delivery is for.
    """
    access, patience = Access(secrets.token_bytes(32), tls_of(spark)), _patience(spark)
    local = is_local(spark)
    conf: Any = spark.sparkContext._conf
    host = _LOOPBACK if local else conf.get("spark.driver.host", _LOOPBACK)
    bound = host if local else conf.get("spark.driver.bindAddress", host)
    service = Rendezvous(bound, access, tasks, patience=_JOIN, observer=observer)
    member = Member(
        pickled(group),
        functors,
        written_of(group, wanted),
        limits,
        tasks,
        access.location(host, service.port),
        access,
        patience,
        local,
        observer is not None,
        few_bytes(tasks),
    )
    work = functools.partial(_run, member, delivery.reader)
    together = delivery.frame.mapInArrow(work, BLOBS, barrier=True)
    # A shuffle behind it: only then does Spark try a barrier stage again when an executor dies,
    # and what is computed from the frame need not be barrier stages in turn.
    return Gang(together.repartitionById(tasks, "task"), service)


def _run(
    member: Member, reader: Reader, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    told = []
    for batch in run_task(member, reader, task_number(), batches):
        told.append(news_of(batch, member.few))
        yield batch
    if told:  # else another task tells why it has stopped
        member.tell(pa.Table.from_batches(told))


# ── settings ──


def _patience(spark: SparkSession) -> Patience:
    usual = Patience()
    return Patience(
        _number(spark, "spark.whence.gang.silence", usual.silence),
        int(_number(spark, "spark.whence.gang.inboxBytes", usual.inbox_bytes)),
    )


def _number(spark: SparkSession, name: str, usual: float) -> float:
    given = spark.conf.get(name, None)
    if given is None:
        return usual
    try:
        found = float(given)
        if found > 0:
            return found
    except ValueError:
        pass
    raise UsageError(
        Diagnostic("W1012", f"`{name}` is `{given}`", hint="give a number that is above zero")
    )


def tls_of(spark: SparkSession) -> Tls | None:
    """Return the certificate that the user wants tasks to show each other."""
    prefix = "spark.whence.tls"
    certificate, key = (spark.conf.get(f"{prefix}.{n}", None) for n in ("certificate", "key"))
    if certificate is None and key is None:
        return None
    hostname = spark.conf.get(f"{prefix}.hostname", None)
    if certificate is None or key is None or hostname is None:
        raise UsageError(
            Diagnostic(
                "W1013",
                "a certificate for tasks needs three settings, and some are missing",
                hint=f"give `{prefix}.certificate` and `{prefix}.key`, files in PEM at the "
                f"driver, and `{prefix}.hostname`, the name that the certificate is for",
            )
        )
    try:
        return Tls(Path(certificate).read_bytes(), Path(key).read_bytes(), hostname)
    except OSError as error:
        said = error.strerror or str(error)
        raise UsageError(
            Diagnostic("W1014", f"cannot read `{error.filename}`: {said.lower()}")
        ) from None
