"""What the language has and the engines do not have yet."""

from __future__ import annotations

from collections.abc import Iterator

from whence.analysis.clauses import origins
from whence.diagnostics import Diagnostic, Span
from whence.syntax.nodes import Call, Counter, Program, Rule, walk


def check_supported(program: Program) -> list[Diagnostic]:
    """Refuse equivalence relations, stateful functors, counters and `range`."""
    found: list[Diagnostic] = []
    for decl in program.relations:
        if "eqrel" in decl.qualifiers:
            found.append(_refuse(f"the equivalence relation `{decl.name}`", decl.span))
    for functor in program.functors:
        if functor.stateful:
            found.append(_refuse(f"the stateful functor `{functor.name}`", functor.span))
    for origin in origins(program):
        heads = origin.heads if isinstance(origin, Rule) else (origin.dominated, origin.dominating)
        for root in (*heads, *origin.body):
            for node in walk(root):
                found.extend(_check(node))
    return found


def _check(node: object) -> Iterator[Diagnostic]:
    match node:
        case Counter(span=span):
            yield _refuse("the counter `$`", span)
        case Call(functor="range", span=span):
            yield _refuse("the functor `range`", span)
        case _:
            pass


def _refuse(what: str, span: Span) -> Diagnostic:
    return Diagnostic("W0520", f"{what} is not supported yet", span)
