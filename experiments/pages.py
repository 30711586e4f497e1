"""Tables of experiments in a page, between marks, so that a page shows what was measured."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.report import Table


def filled(page: str, name: str, tables: Sequence[Table]) -> str:
    """Return the page with tables at the marks `<!-- NAME.1 -->`, `<!-- NAME.2 -->`…

    A mark that the page lacks is left out.
    """
    for number, table in enumerate(tables, 1):
        start, end = f"<!-- {name}.{number} -->", "<!-- end -->"
        marked = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
        text = f"{start}\n\n{markdown(table)}\n\n{end}"
        page = marked.sub(lambda _, text=text: text, page)  # type: ignore[misc]
    return page


def markdown(table: Table) -> str:
    """Return a table as Markdown, its notes below it.

    >>> print(markdown(Table("T", ("a", "b"), (("x", "1"),), notes=("so", "and so"))))
    T:
    <BLANKLINE>
    | a | b |
    |---|--:|
    | x | 1 |
    <BLANKLINE>
    so; and so.
    """
    rules = ["---" if i < table.left else "--:" for i in range(len(table.headers))]
    lines = [f"{table.title}:", "", _line(table.headers), f"|{'|'.join(rules)}|"]
    lines += map(_line, table.rows)
    if table.notes:
        lines += ["", f"{'; '.join(table.notes)}."]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
