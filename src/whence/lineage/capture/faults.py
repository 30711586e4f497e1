"""What can be wrong with the capture of lineage, in words: one function for each diagnostic."""

from __future__ import annotations

from whence.diagnostics import DataError, Diagnostic, UsageError


def not_traced(what: str, hint: str = "") -> UsageError:
    return UsageError(
        Diagnostic(
            "W1170",
            f"`{what}` is not traced, so lineage would be lost",
            hint=hint or "use `.untraced` to go on without lineage, knowingly",
        )
    )


def bad_sample(sample: object) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1171",
            f"`{sample}` is no share of the input rows",
            hint="give a number above 0 and up to 1, such as `sample=0.01`",
        )
    )


def mixed(what: str) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1172",
            f"{what} takes a frame that is not traced, or that another tracer traces",
            hint="read it with the same tracer, or name it: `tracer.frame(df, 'name')`",
        )
    )


def other_name(path: str, wanted: str, found: str) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1173",
            f"`{path}` is the dataset `{found}` of an earlier job, not `{wanted}`",
            hint=f"rows are known by that name: leave `names` out, or say `{found}`",
        )
    )


def unplaced(what: str) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1174",
            f"{what}, so rows written could not be found again by file and position",
            hint="let rows carry their numbers: `.option('whence.ids', 'row_id')`",
        )
    )


def reserved(names: list[str]) -> UsageError:
    told = ", ".join(f"`{name}`" for name in names)
    return UsageError(
        Diagnostic("W1175", f"{told}: columns of this name are the tracer's", hint="rename them")
    )


def bad_name(what: str, name: object) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1176",
            f"`{name}` cannot be the name of a {what}",
            hint="letters, digits, `.`, `_` and `-`, the first a letter or a digit",
        )
    )


def bad_mark(path: str, why: str) -> DataError:
    return DataError(
        Diagnostic(
            "W1177",
            f"`{path}` does not say what the rows beside it are: {why}",
            hint="write the dataset again, or remove the file to number its rows anew",
        )
    )


def bad_key(name: str, why: str) -> UsageError:
    return UsageError(
        Diagnostic("W1178", f"column `{name}` cannot number rows: {why}", hint="an integer column")
    )


def several_lines(text: str) -> DataError:
    return DataError(
        Diagnostic(
            "W1179",
            f"an element of several lines could not be found again in a text file: {text}",
            hint="write it on one line, as `json.dumps` does",
        )
    )
