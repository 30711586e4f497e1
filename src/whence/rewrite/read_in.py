"""Which semiring a program is read in, and which of its relations show annotations.

The choice: what a run asks for; else what `@prov:NAME` says; else none, which is a plain run.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final, TypeAlias

from whence.diagnostics import Diagnostic, ProgramError, UsageError, nearest, raise_errors
from whence.semiring.base import Semiring
from whence.syntax.nodes import Program, RelationDecl

AnySemiring: TypeAlias = Semiring[Any]

PLAIN: Final = "plain"
"""Asks for a run without annotations, whatever the program says."""


def read_in(program: Program, asked: str | AnySemiring | None = None) -> Program:
    """Mark the relations whose tables have a column of annotations, with the semiring it is in.

    Where relations are declared `@prov`, it is those; where none is, all. The column of an
    `@prov` relation comes in with its facts and goes out; that of any other only goes out.

    >>> from whence.syntax.souffle import parse
    >>> text = ".decl edge(x: number, @prov:tropical)  .decl path(x: number)"
    >>> [decl.semiring and decl.semiring.name for decl in read_in(parse(text)).relations]
    ['tropical', None]
    """
    semiring = _chosen(program, asked)
    if semiring is not None:
        _refuse_inline(program)
    some = any(decl.provenance is not None for decl in program.relations)

    def marked(decl: RelationDecl) -> RelationDecl:
        shown = "inline" not in decl.qualifiers and (decl.provenance is not None or not some)
        wanted = semiring if shown else None
        return decl if decl.semiring is wanted else replace(decl, semiring=wanted)

    return replace(program, relations=tuple(map(marked, program.relations)))


def check_defaults(program: Program, defaults: Collection[str]) -> None:
    """Refuse annotations for relations that cannot have any."""
    known = {decl.name: decl for decl in program.relations}
    for name in defaults:
        if semiring_of(program) is None:
            message = f"annotations for `{name}` in a run without a semiring"
            raise UsageError(Diagnostic("W0945", message, hint="choose one: `--semiring tropical`"))
        if name not in known:
            like = nearest(name, known)
            raise UsageError(
                Diagnostic(
                    "W0945",
                    f"annotations for `{name}`, which the program does not declare",
                    hint=f"did you mean `{like}`?" if like else "",
                )
            )
        if "inline" in known[name].qualifiers:
            message = f"annotations for `{name}`, which is inline and holds no facts"
            raise UsageError(Diagnostic("W0945", message))


def semiring_of(program: Program) -> AnySemiring | None:
    """Return the semiring that a program has been marked with."""
    return next((d.semiring for d in program.relations if d.semiring is not None), None)


def _refuse_inline(program: Program) -> None:
    raise_errors(
        Diagnostic(
            "W0943",
            f"`{decl.name}` is inline: it holds no facts, and so no annotations",
            decl.span,
            hint="leave `@prov` or `inline` out of its declaration",
        )
        for decl in program.relations
        if decl.provenance is not None and "inline" in decl.qualifiers
    )


def _chosen(program: Program, asked: str | AnySemiring | None) -> AnySemiring | None:
    if asked == PLAIN:
        return None
    if asked is not None:
        # Whoever runs a program may name code to run; a program's text may not.
        return made(asked, load_code=True)
    named: dict[str, RelationDecl] = {}
    for decl in program.relations:
        if decl.provenance:
            named.setdefault(decl.provenance, decl)
    if len(named) > 1:
        first, second = list(named)[:2]
        raise ProgramError(
            Diagnostic(
                "W0941",
                f"the program names two semirings, `{first}` and `{second}`",
                named[second].span,
                f"`{named[first].name}` is declared in `{first}`",
                hint=f"choose one with `--semiring {first}`, or `--semiring {PLAIN}` for neither",
            )
        )
    for name, decl in named.items():
        try:
            return made(name)
        except UsageError as error:  # the program is wrong, not the command
            raise ProgramError(
                *(replace(found, span=decl.span) for found in error.diagnostics)
            ) from None
    return None


def made(named: str | AnySemiring, *, load_code: bool = False) -> AnySemiring:
    """Return a semiring of that name; only with `load_code` a name may be of code to load."""
    from whence.semiring.registry import make  # a plain run does without

    return make(named, load_code=load_code)
