"""What annotations look like in columns, what they come to, and how large they may grow."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semiring.values import MADE, VALUES, names, polynomials, sets, values
from whence.diagnostics import LimitError
from whence.semiring.absorption import Absorption
from whence.semiring.bdd import VARIABLES, Diagrams
from whence.semiring.counting import Counting, CountingInf
from whence.semiring.how import How, multiple, power, specialise
from whence.semiring.probability import Probability
from whence.semiring.registry import make
from whence.semiring.topk import TopK
from whence.semiring.tropical import Tropical
from whence.semiring.why import MinWhy, Why


@pytest.mark.parametrize("name", [name for name in VALUES if name != "probability"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_what_is_shown_can_be_read_again(name: str, data: st.DataObject) -> None:
    semiring, value = MADE[name], data.draw(values(name))
    shown = semiring.show(value)
    kinds = {"number": int, "float": int | float, "symbol": str}
    assert isinstance(shown, kinds[semiring.column])
    assert semiring.read(shown) == value
    assert semiring.show(semiring.read(shown)) == shown
    assert semiring.read(str(shown)) == value


@pytest.mark.parametrize("name", VALUES)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_a_sum_is_that_of_all_its_values(name: str, data: st.DataObject) -> None:
    semiring, summed = MADE[name], data.draw(st.lists(values(name), max_size=6))
    total = semiring.zero
    for value in summed:
        total = semiring.plus(total, value)
    assert semiring.sum(summed) == total
    assert semiring.sum(iter(summed)) == total


REFUSED: list[tuple[str, Any, str]] = [
    ("boolean", 2, "neither 0 nor 1"),
    ("boolean", "maybe", "no number"),
    ("tropical", -1, "negative"),
    ("tropical", math.nan, "NaN"),
    ("tropical", "far", "`far` is no number"),
    ("tropical", None, "no number"),
    ("viterbi", 1.5, "not between 0 and 1"),
    ("fuzzy", -0.1, "not between 0 and 1"),
    ("lukasiewicz", "2", "not between 0 and 1"),
    ("probability", 1.01, "not between 0 and 1"),
    ("probability", math.nan, "NaN"),
    ("access", "cosmic", "no level of access, which are public"),
    ("access", -1, "no level"),
    ("bottleneck", -3, "negative"),
    ("visits", -1, "negative"),
    ("counting", 0.5, "no whole number"),
    ("counting", -1, "no whole number"),
    ("counting", math.inf, "no whole number"),
    ("counting-inf", -1, "neither a whole number from 0 nor ∞"),
    ("counting-inf", 1.5, "neither a whole number from 0 nor ∞"),
    ("top-2", "1 -2", "negative"),
    ("2-feature", "1", "has 1 dimensions"),
    ("product(tropical,fuzzy)", "1 2 3", "has 3 dimensions"),
    ("product(tropical,fuzzy)", "1 2", "not between"),
    ("which", "{a} {b}", "not one set"),
    ("why", "{a} b", "no set in braces"),
    ("how", "a·", "no product"),
    ("how", -1, "negative"),
    ("how", "a^99999999", "raised to more than"),
    ("absorption", "a ∨ ", "no product"),
]


@pytest.mark.parametrize(("name", "cell", "reason"), REFUSED, ids=lambda x: str(x)[:20])
def test_what_is_no_annotation_is_refused(name: str, cell: Any, reason: str) -> None:
    semiring = make(name)
    for refuses in (semiring.read, semiring.check):
        with pytest.raises(ValueError, match=reason):
            refuses(cell)


def test_numbers_come_from_text_and_from_arrays_too() -> None:
    tropical = make("tropical")
    cells = ["2", " 2.0 ", 2, 2.0, np.int64(2), np.float64(2.0), True + True]
    assert [tropical.read(cell) for cell in cells] == [2] * 7
    assert tropical.read("∞") == tropical.read("inf") == tropical.zero
    assert tropical.read(10**400) == math.inf
    assert make("boolean").read("True") is True
    assert make("boolean").read(0) is False


def test_whole_costs_stay_exact_and_are_shown_whole() -> None:
    tropical = Tropical()
    far = tropical.times(tropical.read(2**62), tropical.read(1.0))
    assert far == 2**62 + 1
    assert repr(tropical.show(tropical.times(tropical.read(1.5), tropical.read(1.5)))) == "3"
    assert repr(tropical.show(5.0)) == "5"


def test_levels_of_access_have_names_and_may_be_numbers() -> None:
    access = make("access")
    public, secret, nobody = map(access.read, ("public", "Secret", "nobody"))
    assert access.show(access.times(public, secret)) == "secret"
    assert access.show(access.plus(nobody, access.read("top secret"))) == "top-secret"
    assert (public, nobody) == (access.one, access.zero)
    assert access.read(1) == access.read("1") == access.read("confidential")
    assert access.show(access.plus(access.read(7), access.read("2.5"))) == "2.5"


def test_counts_are_exact_however_large() -> None:
    counting, infinite = Counting(), CountingInf()
    large = counting.times(10**30, 10**30)
    assert counting.show(counting.plus(large, 1)) == 10**60 + 1
    assert len(infinite.show(10**5000)) == 5001
    assert infinite.read(infinite.show(10**5000 + 1)) == 10**5000 + 1
    assert infinite.show(infinite.plus(10**5000, math.inf)) == "inf"
    assert infinite.times(10**5000, math.inf) == math.inf
    assert infinite.times(0, math.inf) == 0
    assert infinite.infinite == math.inf
    assert counting.infinite is None


def test_top_k_keeps_the_k_least_with_repeats_or_without() -> None:
    two, distinct = make("top-2"), make("top-2-distinct")
    assert two.plus((1, 4), (1, 2)) == (1, 1)
    assert distinct.plus((1, 4), (1, 2)) == (1, 2)
    assert two.times((1, 4), (0, 2)) == (1, 3)
    assert distinct.times((0, 1), (0, 1)) == (0, 1)
    assert two.show(two.read("7, 3 5")) == "3 5"
    assert two.read(math.inf) == two.read("") == two.zero
    assert two.times((1e308,), (1e308,)) == two.zero, "what costs ∞ is not there"
    with pytest.raises(ValueError, match="at least 1"):
        TopK(0)


def test_features_are_best_each_for_itself() -> None:
    # Paper 004: a way over u is 4 m high at most, one over v 2.10 m but has a charging station.
    features = make("product(bottleneck,visits)")
    over_u = features.times(features.read("4 0"), features.read("4 0"))
    over_v = features.times(features.read("2.1 0"), features.read("2.1 1"))
    assert features.show(features.plus(over_u, over_v)) == "4 1"
    low = features.times(features.read("4 0"), features.read("2.1 0"))
    assert features.show(features.plus(low, over_v)) == "2.1 1"


def test_a_product_can_be_read_from_a_sequence() -> None:
    assert make("product(tropical,fuzzy)").read((3, 0.5)) == (3, 0.5)
    assert make("1-feature").read(3) == (3,)
    assert make("2-feature").sum([]) == make("2-feature").zero
    with pytest.raises(ValueError, match="at least one"):
        type(make("2-feature"))()


def test_names_come_in_a_natural_order() -> None:
    how, why = make("how"), make("why")
    assert how.show(how.read("p10·p2 + p3·p3·2 + p1 + 5")) == "5 + p1 + p2·p10 + 2·p3²"
    assert how.show(how.read("p^2·p")) == "p³"
    assert how.show(how.read(7)) == "7"
    assert how.show(how.zero) == "0"
    assert why.show(why.read("{p3,p1,p2} {p10} {p2}")) == "{p2} {p10} {p1,p2,p3}"
    assert make("which").show(frozenset({"p10", "p9"})) == "{p9,p10}"
    assert how.show(how.variable("n" + "1" * 5000)) == "n" + "1" * 5000


@given(polynomials(MADE["how"]), st.data())
@settings(max_examples=80, deadline=None)
def test_every_semiring_is_an_image_of_polynomials(left: Any, data: st.DataObject) -> None:
    how, right = MADE["how"], data.draw(polynomials(MADE["how"]))
    name = data.draw(st.sampled_from(["tropical", "counting", "why", "minwhy", "which", "top-2"]))
    semiring = MADE[name]
    numbers = {"tropical": 7, "counting": 3, "top-2": (1, 2)}

    def meaning(fact: str) -> Any:
        return numbers.get(name) or semiring.variable(fact)

    for ours, theirs in ((how.plus, semiring.plus), (how.times, semiring.times)):
        there = specialise(ours(left, right), semiring, meaning)
        assert there == theirs(
            specialise(left, semiring, meaning), specialise(right, semiring, meaning)
        )


def test_powers_and_multiples_repeat_an_operation() -> None:
    counting = Counting()
    assert [power(counting, 2, n) for n in range(6)] == [1, 2, 4, 8, 16, 32]
    assert [multiple(counting, 3, n) for n in range(4)] == [0, 3, 6, 9]


@given(st.lists(sets, max_size=6), st.lists(sets, max_size=6))
@settings(max_examples=100, deadline=None)
def test_absorption_is_minimal_why_on_diagrams(
    left: list[frozenset[str]], right: list[frozenset[str]]
) -> None:
    explicit, diagrams = MADE["minwhy"], MADE["absorption"]

    def both(terms: list[frozenset[str]]) -> tuple[Any, Any]:
        why, bdd = explicit.zero, diagrams.zero
        for term in terms:
            w, d = explicit.one, diagrams.one
            for name in term:
                w = explicit.times(w, explicit.variable(name))
                d = diagrams.times(d, diagrams.variable(name))
            why, bdd = explicit.plus(why, w), diagrams.plus(bdd, d)
        return why, bdd

    (a, x), (b, y) = both(left), both(right)
    assert isinstance(diagrams, Absorption)
    assert diagrams.witnesses(x) == a
    assert diagrams.witnesses(diagrams.times(x, y)) == explicit.times(a, b)
    assert (x == y) == (a == b)


def test_absorption_shows_prime_implicants_small_ones_first() -> None:
    absorption = make("absorption")
    shown = absorption.show(absorption.read("p1·p2·p3 ∨ p4·p2 ∨ p1·p2·p4"))
    assert shown == "p2·p4 ∨ p1·p2·p3"
    assert absorption.show(absorption.one) == "1"
    assert absorption.show(absorption.zero) == "0"
    assert absorption.read("p·0 ∨ 1·q") == absorption.variable("q")


@given(
    st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=6),
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
)
@settings(max_examples=100, deadline=None)
def test_a_probability_is_that_of_all_worlds_together(
    terms: list[list[int]], weights: list[float]
) -> None:
    semiring = Probability()
    facts = [semiring.annotate(f"fact({n})", weight) for n, weight in enumerate(weights)]
    event = semiring.zero
    for term in terms:
        product_of = semiring.one
        for n in term:
            product_of = semiring.times(product_of, facts[n])
        event = semiring.plus(event, product_of)
    expected = 0.0
    for world in product((False, True), repeat=6):
        if any(all(world[n] for n in term) for term in terms):
            pairs = zip(world, weights, strict=True)
            expected += math.prod(w if there else 1 - w for there, w in pairs)
    assert semiring.show(event) == pytest.approx(expected, abs=1e-12)


def test_equal_probabilities_of_two_facts_are_two_events() -> None:
    semiring = Probability()
    a, b = semiring.annotate("a", 0.5), semiring.annotate("b", 0.5)
    assert semiring.annotate("a", 0.5) == a
    assert semiring.show(semiring.times(a, b)) == 0.25
    assert semiring.show(semiring.plus(a, semiring.annotate("a", 0.25))) == 0.625
    assert semiring.read(0.5) != semiring.read(0.5)
    assert semiring.annotate("c", 1) == semiring.variable("d") == semiring.one
    assert semiring.annotate("c", 0) == semiring.zero


def test_a_long_conjunction_is_counted_without_recursion() -> None:
    semiring = Probability()
    facts = [semiring.annotate(f"f({n})", 0.999) for n in range(5000)]
    event = semiring.one
    for fact in reversed(facts):
        event = semiring.times(event, fact)
    assert semiring.show(event) == pytest.approx(0.999**5000)


def test_annotations_of_two_evaluations_do_not_mix() -> None:
    a, b = make("absorption"), make("absorption")
    assert a.variable("p") != b.variable("p")
    with pytest.raises(ValueError, match="different evaluations"):
        a.plus(a.variable("p"), b.variable("p"))


def code_of(error: pytest.ExceptionInfo[LimitError]) -> str:
    return error.value.diagnostics[0].code


def test_polynomials_and_witnesses_have_a_budget_of_terms() -> None:
    for semiring in (How(50), Why(50), MinWhy(50)):
        value: Any = semiring.one
        with pytest.raises(LimitError, match="more than 50 terms") as error:
            for n in range(10):
                either = semiring.plus(semiring.variable(f"a{n}"), semiring.variable(f"b{n}"))
                value = semiring.times(value, either)
        assert code_of(error) == "W0921"
        with pytest.raises(LimitError):
            semiring.sum(semiring.variable(f"a{n}") for n in range(51))


def test_what_absorbs_itself_does_not_use_up_the_budget() -> None:
    semiring = MinWhy(10)
    many = semiring.sum(semiring.variable(f"a{n}") for n in range(10))
    assert semiring.times(many, many) == many


def test_diagrams_have_a_budget_of_nodes() -> None:
    semiring = Absorption(nodes=5000)
    pairs = [(semiring.variable(f"a{n}"), None) for n in range(40)]
    value = semiring.zero
    with pytest.raises(LimitError, match="more than 5,000 nodes") as error:
        for n, (a, _) in enumerate(pairs):
            value = semiring.plus(value, semiring.times(a, semiring.variable(f"b{n}")))
    assert code_of(error) == "W0922"


def test_garbage_does_not_use_up_the_budget_of_nodes() -> None:
    diagrams = Diagrams(5000)
    for round in range(20):
        value = diagrams.true
        for n in range(150):
            value = diagrams.both(value, diagrams.variable((n + round) % 150))
        assert len(diagrams.support(value)) == 150


def test_diagrams_refuse_more_variables_than_the_stack_takes() -> None:
    diagrams = Diagrams()
    facts = [diagrams.variable(n) for n in range(VARIABLES + 1)]
    value = diagrams.true
    with pytest.raises(LimitError, match="more than 20,000 facts") as error:
        for fact in reversed(facts):
            value = diagrams.both(value, fact)
    assert code_of(error) == "W0923"
    assert len(diagrams.support(value)) == VARIABLES
    assert diagrams.both(value, facts[-1]) == value, "those it has already are no more"


def test_a_function_with_too_many_terms_is_not_shown() -> None:
    semiring = Absorption(budget=100)
    value = semiring.one
    for n in range(10):
        either = semiring.plus(semiring.variable(f"a{n}"), semiring.variable(f"b{n}"))
        value = semiring.times(value, either)
    with pytest.raises(LimitError) as error:
        semiring.show(value)
    assert code_of(error) == "W0921"


@given(names)
def test_a_fact_is_named_where_facts_are_told_apart(fact: str) -> None:
    for name in ("which", "why", "minwhy", "how", "absorption"):
        assert fact in str(MADE[name].show(MADE[name].variable(fact)))
        assert MADE[name].read(fact) == MADE[name].variable(fact)
    for name in ("boolean", "tropical", "counting", "top-2", "probability"):
        assert MADE[name].variable(fact) == MADE[name].one
