"""Golden cases: many small ones per text file, rewritten by `pytest --update`.

=== what the case shows
input
--- expected
output
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    title: str
    input: str
    output: str


def load(path: Path) -> tuple[Case, ...]:
    """Return the cases of a golden file, in order."""
    text = path.read_text(encoding="utf-8")
    cases = []
    for block in ("\n" + text).split("\n=== ")[1:]:
        title, _, rest = block.partition("\n")
        given, _, expected = rest.partition("\n--- expected\n")
        cases.append(Case(title, given.strip("\n"), expected.strip("\n")))
    return tuple(cases)


def check(path: Path, produce: Callable[[str], str], *, update: bool) -> None:
    """Compare every case of the file with what `produce` makes of it; `update` writes that down."""
    cases = load(path)
    assert len({case.title for case in cases}) == len(cases), "two cases have one title"
    results = [Case(c.title, c.input, produce(c.input).strip("\n")) for c in cases]
    if update:
        path.write_text("\n\n".join(map(_text, results)) + "\n", encoding="utf-8")
        return
    wrong = [_text(got) for got, case in zip(results, cases, strict=True) if got != case]
    assert not wrong, f"{path.name} ({len(wrong)} cases differ; --update accepts):\n" + "\n".join(
        wrong
    )


def _text(case: Case) -> str:
    return f"=== {case.title}\n{case.input}\n--- expected\n{case.output}"
