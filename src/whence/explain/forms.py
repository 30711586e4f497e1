"""The formats of explanations, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whence.diagnostics import Diagnostic, UsageError
from whence.explain.diagram import Diagram, Explanation, diagram, trimmed
from whence.explain.dot import as_dot
from whence.explain.json_form import as_json
from whence.explain.mermaid import as_mermaid
from whence.explain.outline import Show
from whence.explain.page import as_html
from whence.explain.prov_json import as_prov_json
from whence.explain.text import as_text
from whence.explain.words import annotation_cell

FORMS: Final[dict[str, Callable[[Diagram, Show], str]]] = {
    "text": as_text,
    "json": as_json,
    "dot": as_dot,
    "mermaid": as_mermaid,
    "prov-json": as_prov_json,
    "html": as_html,
}


def formatted(
    explanation: Explanation,
    form: str = "text",
    *,
    show: Show = annotation_cell,
    depth: int | None = None,
) -> str:
    """Return an explanation in one of the `FORMS`; `show` says how annotations are printed."""
    if form not in FORMS:
        hint = f"one of {', '.join(FORMS)}"
        raise UsageError(Diagnostic("W0821", f"there is no format `{form}`", hint=hint))
    found = diagram(explanation)
    return FORMS[form](found if depth is None else trimmed(found, depth), show)
