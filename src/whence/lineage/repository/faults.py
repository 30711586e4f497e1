"""What can be wrong with a repository or a question to it: one function for each diagnostic."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from whence.diagnostics import DataError, Diagnostic, LimitError, UsageError, nearest


def not_a_repository(path: Path, why: str) -> UsageError:
    hint = "give the path of a new or empty folder, or of a repository"
    return UsageError(Diagnostic("W1140", f"`{path}` is no repository: {why}", hint=hint))


def absent(path: Path) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1141",
            f"there is no repository at `{path}`",
            hint="`whence lineage import` and `whence.lineage.Repository(path).add` make one",
        )
    )


def damaged(path: Path, why: str) -> DataError:
    return DataError(
        Diagnostic(
            "W1142",
            f"`{path}` is damaged: {why}",
            hint="restore a copy, or add the jobs again to a new repository",
        )
    )


def busy(path: Path, seconds: float) -> LimitError:
    return LimitError(
        Diagnostic(
            "W1143",
            f"another process has been writing to `{path}` for {seconds:g} s",
            hint="wait for it to end, or give more patience",
        )
    )


def newer(path: Path, version: object) -> DataError:
    return DataError(
        Diagnostic("W1144", f"`{path}` has format {version}, which this version does not know")
    )


def no_entity(given: object) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1145",
            f"`{_short(given)}` names no entity",
            hint="a name such as `tweets/17`, or a pair such as `('tweets', 17)`",
        )
    )


def unknown(names: Iterable[str], spaces: Iterable[str], deleted: bool) -> DataError:
    several = list(names)
    shown = ", ".join(f"`{name}`" for name in several[:3]) + (", …" if len(several) > 3 else "")
    if deleted:
        return DataError(Diagnostic("W1147", f"{shown}: deleted from the repository"))
    like = nearest(several[0].partition(":")[2].rpartition("/")[0] or several[0], spaces)
    hint = f"did you mean the table `{like}`?" if like else "`whence lineage stats` lists tables"
    return DataError(Diagnostic("W1146", f"no job that was asked about knows {shown}", hint=hint))


def no_job(what: str, name: str, known: Iterable[str]) -> UsageError:
    there = sorted(set(known))
    like = nearest(name, there)
    hint = f"did you mean `{like}`?" if like else "there are " + ", ".join(there[:5])
    if not there:
        hint = "the repository is empty"
    return UsageError(Diagnostic("W1148", f"there is no {what} `{name}`", hint=hint))


def no_name(what: str, given: object) -> UsageError:
    return UsageError(Diagnostic("W1158", f"`{_short(given)}` is no name of a {what}"))


def compacted(job: str, run: str) -> UsageError:
    told = f"run `{run}` of `{job}` was compacted with others and cannot be replaced"
    return UsageError(Diagnostic("W1204", told, hint="add it under another name"))


def no_edges(why: str) -> DataError:
    return DataError(Diagnostic("W1149", f"this is no reduced graph: {why}"))


def no_predicate(text: str, why: str) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1150",
            f"`{_short(text)}` is no predicate over these rows: {why}",
            hint="an expression over the columns, such as `country = 'FR' and age < 18`",
        )
    )


def no_rows(path: object, why: str) -> DataError:
    return DataError(Diagnostic("W1151", f"cannot read rows from `{_short(path)}`: {why}"))


def no_row_ids(column: str, known: Iterable[str], why: str) -> UsageError:
    there = list(known)
    like = nearest(column, there)
    hint = f"did you mean `{like}`?" if like else "there are " + ", ".join(there[:8])
    return UsageError(Diagnostic("W1152", f"column `{column}` has no row ids: {why}", hint=hint))


def too_long(seconds: float) -> LimitError:
    return LimitError(Diagnostic("W1153", f"no answer within {seconds:g} s"))


def too_much(memory: int) -> LimitError:
    told = f"this question needs more memory than {memory:,} bytes"
    return LimitError(Diagnostic("W1203", told, hint="ask for less at a time"))


def no_question(text: str, why: str) -> UsageError:
    return UsageError(Diagnostic("W1154", f"`{_short(text)}` cannot be asked in SQL: {why}"))


def no_time(text: str) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1155",
            f"`{_short(text)}` is no time",
            hint="such as 2026-03-01 or 2026-03-01T12:00:00Z",
        )
    )


def no_period(since: object, until: object) -> UsageError:
    return UsageError(Diagnostic("W1156", f"no time is after `{since}` and before `{until}`"))


def missing_extra(library: str, why: str) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1157",
            f"{why} needs `{library}`",
            hint="install it with `pip install whence[lineage]`",
        )
    )


def too_large(form: str, most: int) -> LimitError:
    return LimitError(
        Diagnostic(
            "W1160",
            f"more than {most:,} edges are too many for `{form}`",
            hint="ask for less, or use `whence lineage export --format jsonl`",
        )
    )


def reduced_apart(names: Iterable[str]) -> UsageError:
    told = ", ".join(f"`{name}`" for name in names)
    hint = "add each as a run of its own, without `--job`"
    return UsageError(
        Diagnostic("W1162", f"{told} were reduced apart and are no single run", hint=hint)
    )


def no_topics(path: Path) -> DataError:
    hint = "give a file, or the folder that a traced job has its log in"
    return DataError(Diagnostic("W1163", f"`{path}` is a folder without a log", hint=hint))


def _short(given: object) -> str:
    text = " ".join(str(given).split())
    return text if len(text) <= 80 else text[:79] + "…"
