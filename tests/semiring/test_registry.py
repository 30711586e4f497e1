"""Semirings by name, and semirings of one's own, which are checked before they are used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from whence.diagnostics import UsageError
from whence.semiring import Law, Semiring, make, names
from whence.semiring.base import Cell, Chain, Times
from whence.semiring.own import checked
from whence.semiring.registry import MOST, SEMIRINGS


@pytest.mark.parametrize(
    "name", [*SEMIRINGS, "top-3", "top-10-distinct", "4-feature", "product(fuzzy)"]
)
def test_a_semiring_is_made_by_its_name(name: str) -> None:
    semiring = make(name)
    assert semiring.name == name
    assert make(f" {name.upper()} ").name == name
    assert type(semiring) is not None
    assert semiring.plus(semiring.zero, semiring.one) == semiring.one


def test_each_evaluation_has_its_own() -> None:
    assert make("absorption") is not make("absorption")
    semiring = make("how")
    assert make(semiring) is semiring


def test_all_names_are_listed() -> None:
    assert set(SEMIRINGS) < set(names())
    assert {"top-K", "top-K-distinct", "K-feature"} < set(names())


@pytest.mark.parametrize("name", [*SEMIRINGS, "top-3", "top-2-distinct", "2-feature"])
def test_every_semiring_passes_the_check_of_one_s_own(name: str) -> None:
    assert checked(make(name)).name == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tropcal", "did you mean `tropical`?"),
        ("counting inf", "did you mean `counting-inf`?"),
        ("quux", "one of boolean, tropical"),
        ("top-0", "K is a number from 1 to 1000: `top-3`"),
        ("top-K", "K is a number from 1 to 1000: `top-3`"),
        ("K-feature", "`3-feature`"),
        ("topk", "did you mean `top-K`?"),
        ("product(tropical,why)", "boolean, tropical"),
        ("product()", "boolean, tropical"),
        ("product(tropical,fuzy)", "did you mean `fuzzy`?"),
        ("own.py:Mine", "one of"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        make(name)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "W0920"
    assert hint in diagnostic.hint


@pytest.mark.parametrize(
    "name", [f"top-{MOST + 1}", "top-9999999999", f"product({'fuzzy,' * MOST}fuzzy)"]
)
def test_a_semiring_has_a_largest_size(name: str) -> None:
    with pytest.raises(UsageError, match="is the most"):
        make(name)


class Xor(Semiring[int]):
    """Whether the number of derivations is odd: a semiring, though no idempotent one."""

    name = "xor"
    laws = Law.NONE
    column = "number"
    zero = 0
    one = 1

    def plus(self, a: int, b: int) -> int:
        return (a + b) % 3

    def times(self, a: int, b: int) -> int:
        return a * b % 3

    def read(self, cell: Cell) -> int:
        return int(cell) % 3

    def show(self, value: int) -> int:
        return value

    def samples(self) -> list[int]:
        return [0, 1, 2]


def refusal(semiring: Any) -> tuple[str, str]:
    with pytest.raises(UsageError) as error:
        make(semiring)
    (diagnostic,) = error.value.diagnostics
    return diagnostic.code, diagnostic.notes[0]


def test_one_s_own_semiring_is_taken_as_it_is() -> None:
    mine = Xor()
    assert make(mine) is mine
    assert make(Xor).name == "xor"


def test_a_claim_that_does_not_hold_is_refused_with_the_values() -> None:
    class Claims(Xor):
        laws = Law.IDEMPOTENT

    assert refusal(Claims) == ("W0925", "a ⊕ a = a fails for a = 1: 2 is not 1")


def test_what_breaks_a_law_of_semirings_is_refused_with_the_values() -> None:
    class Subtracts(Xor):
        def plus(self, a: int, b: int) -> int:
            return (a - b) % 3

    code, note = refusal(Subtracts())
    assert code == "W0925"
    assert note == "(a ⊕ b) ⊕ c = a ⊕ (b ⊕ c) fails for a = 0, b = 0, c = 1: 2 is not 1"


def test_a_chain_must_do_what_its_numbers_do() -> None:
    class Costs(Xor):
        laws = Law.IDEMPOTENT | Law.ABSORPTIVE | Law.SELECTIVE | Law.STABLE
        zero = 9
        one = 0

        def plus(self, a: int, b: int) -> int:
            return min(a, b)

        def times(self, a: int, b: int) -> int:
            return min(9, a + b)

        @property
        def chain(self) -> Chain:
            return Chain(Times.ADD, least=True, one=0.0, zero=9.0)

        def samples(self) -> list[int]:
            return [0, 1, 5, 9]

    code, note = refusal(Costs())
    assert code == "W0925"
    assert "a ⊗ b is that of the chain fails for a = 9, b = 9: 9 is not 18" in note


def test_what_does_not_fit_its_column_is_refused() -> None:
    class Words(Xor):
        column = "symbol"  # type: ignore[assignment]

    code, note = refusal(Words())
    assert code == "W0925"
    assert "`show` returns what a column of kind symbol holds" in note


def test_something_else_than_a_semiring_is_refused() -> None:
    class NoSamples(Xor):
        samples = Semiring.samples  # type: ignore[assignment]

        def plus(self, a: int, b: int) -> int:
            return max(a, b)

    class NoColumn(Xor):
        column = "colour"  # type: ignore[assignment]

    class Fails(Xor):
        def times(self, a: int, b: int) -> int:
            return 1 // (a - a)

    class Mutable(Xor):
        def samples(self) -> list[Any]:
            return [[1], [2]]

    class Nameless(Semiring[int]):
        plus = times = read = show = lambda *_: 0  # type: ignore[assignment]

    assert refusal(NoSamples()) == ("W0924", "its `samples` are too few to check its laws")
    assert refusal(NoColumn()) == ("W0924", "its `column` is 'colour'")
    assert refusal(Fails())[0] == "W0924"
    assert "ZeroDivisionError" in refusal(Fails())[1]
    assert "unhashable" in refusal(Mutable())[1]
    assert refusal(Nameless()) == ("W0924", "it has no `name`")
    assert refusal(type("Empty", (Semiring,), {}))[0] == "W0924"
    assert refusal(5)[0] == "W0924"


OWN = """
from whence.semiring import Cell, Law, Semiring

class Parity(Semiring[int]):
    name = "parity"
    laws = Law.NONE
    column = "number"
    zero = 0
    one = 1
    def plus(self, a, b): return (a + b) % 3
    def times(self, a, b): return a * b % 3
    def read(self, cell): return int(cell) % 3
    def show(self, value): return value
    def samples(self): return [0, 1, 2]

instance = Parity()
nothing = 5
"""


def test_a_semiring_is_loaded_from_a_file_when_that_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "own_semiring.py"
    path.write_text(OWN, encoding="utf-8")
    assert make(f"{path}:Parity", load_code=True).name == "parity"
    assert make(f"{path}:instance", load_code=True).name == "parity"
    assert make("whence.semiring.tropical:Tropical", load_code=True).name == "tropical"
    assert make("tropical", load_code=True).name == "tropical"
    for name in (f"{path}:Party", f"{path}.py:Parity", "no.such.module:Parity", ":Parity"):
        with pytest.raises(UsageError) as error:
            make(name, load_code=True)
        assert error.value.diagnostics[0].code == "W0926"
    with pytest.raises(UsageError, match="no `whence"):
        make(f"{path}:nothing", load_code=True)


def test_no_algebra_and_no_diagram_is_loaded_before_it_is_needed() -> None:
    script = (
        "import sys, whence.semiring.base; "
        "assert 'whence.semiring.registry' not in sys.modules; "
        "from whence.semiring import make; make('how'); "
        "print([m for m in ('oxidd', 'numpy', 'numba', 'decimal') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
