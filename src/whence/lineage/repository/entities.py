"""Sets of entities: for each space the numbers of its entities, as sorted arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whence.lineage.names import SPACES, canonical, parse_name, print_name, settled
from whence.lineage.repository import faults

Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Entities:
    """A set of entities; a space that is there has at least one number."""

    by_space: Mapping[str, Numbers] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(numbers) for numbers in self.by_space.values())

    def __iter__(self) -> Iterator[tuple[str, int]]:
        for space, numbers in self.by_space.items():
            for number in numbers.tolist():
                yield space, number

    def __contains__(self, entity: object) -> bool:
        if not (isinstance(entity, tuple) and len(entity) == 2):
            return False
        numbers = self.by_space.get(entity[0])
        return numbers is not None and bool(np.isin(entity[1], numbers))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entities):
            return NotImplemented
        return self.by_space.keys() == other.by_space.keys() and all(
            np.array_equal(numbers, other.by_space[space])
            for space, numbers in self.by_space.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def counts(self) -> dict[str, int]:
        """Return how many entities each space has."""
        return {space: len(numbers) for space, numbers in self.by_space.items()}

    def names(self, limit: int | None = None) -> list[str]:
        """Return the printed names, no more than `limit` of them."""
        return [print_name(*entity) for entity in islice(self, limit)]

    def to_arrow(self) -> pa.Table:
        """Return the entities as a table of `space` and `number`."""
        lengths = [len(numbers) for numbers in self.by_space.values()]
        codes = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        spaces = pa.DictionaryArray.from_arrays(
            pa.array(codes), pa.array(list(self.by_space), pa.utf8())
        )
        numbers = np.concatenate([np.empty(0, np.int64), *self.by_space.values()])
        return pa.table({"space": spaces, "number": pa.array(numbers)})

    def minus(self, other: Entities) -> Entities:
        """Return the entities that are not in the other set."""
        found = {}
        for space, numbers in self.by_space.items():
            gone = other.by_space.get(space)
            found[space] = numbers if gone is None else without(numbers, gone)
        return of_arrays(found)

    def meet(self, other: Entities) -> Entities:
        """Return the entities that are in both sets."""
        return of_arrays(
            {
                space: numbers[member(numbers, other.by_space[space])]
                for space, numbers in self.by_space.items()
                if space in other.by_space
            }
        )

    def join(self, *others: Entities) -> Entities:
        """Return the entities that are in any of the sets."""
        parts: dict[str, list[Numbers]] = {}
        for each in (self, *others):
            for space, numbers in each.by_space.items():
                parts.setdefault(space, []).append(numbers)
        return of_arrays(
            {
                space: several[0] if len(several) == 1 else sorted_set(np.concatenate(several))
                for space, several in parts.items()
            }
        )


Asked: TypeAlias = "Entities | pa.Table | str | tuple[str, int] | Iterable[str | tuple[str, int]]"
"""What entities can be asked for by: names, pairs of space and number, a table of both."""

NONE = Entities()


def of_arrays(by_space: Mapping[str, Numbers]) -> Entities:
    """Return the set of sorted arrays without repeats, in the order of their spaces."""
    return Entities({space: by_space[space] for space in sorted(by_space) if len(by_space[space])})


def entities_of(asked: Asked) -> Entities:
    """Return what is asked for as a set.

    >>> entities_of(["tweets/3", "tweets/1", ("tags", 7)]).counts()
    {'tags': 1, 'tweets': 2}
    """
    if isinstance(asked, Entities):
        return asked
    if isinstance(asked, pa.Table):
        return _of_table(asked)
    several = [asked] if isinstance(asked, str) or _is_pair(asked) else asked
    if not isinstance(several, Iterable):
        raise faults.no_entity(asked)
    found: dict[str, list[int]] = {}
    for each in several:
        space, number = _entity(each)
        found.setdefault(space, []).append(number)
    return of_arrays({space: sorted_set(np.array(n, np.int64)) for space, n in found.items()})


def sorted_set(numbers: Numbers) -> Numbers:
    """Return the numbers in order and each once; np.unique hashes first and takes ten times it."""
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def without(numbers: Numbers, gone: Numbers) -> Numbers:
    """Return the numbers that are not in `gone`; both are sorted."""
    if not len(gone) or not len(numbers):
        return numbers
    return numbers[~member(numbers, gone)]


def member(numbers: Numbers, among: Numbers) -> npt.NDArray[np.bool_]:
    """Return which numbers are in the sorted array `among`."""
    if not len(among):
        return np.zeros(len(numbers), np.bool_)
    places = np.searchsorted(among, numbers)
    places[places == len(among)] = 0
    return np.asarray(among[places] == numbers, np.bool_)


def is_text(name: str) -> bool:
    """Whether a name can be written: one from a command line may hold bytes that are no text."""
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def _entity(each: object) -> tuple[str, int]:
    if isinstance(each, str) and each and is_text(each):
        return parse_name(each)
    if not _is_pair(each) or not is_text(each[0]):
        raise faults.no_entity(each)
    return canonical(str(each[0]), int(each[1]))


def _is_pair(value: object) -> TypeGuard[tuple[str, int]]:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], int | np.integer)
        and bool(-1 <= value[1] < 2**63)
    )


def _of_table(table: pa.Table) -> Entities:
    try:
        spaces = pc.cast(table["space"], SPACES.value_type).combine_chunks().dictionary_encode()
        spaces, settled_numbers = settled(
            spaces, pc.cast(table["number"], pa.int64()).combine_chunks()
        )
        numbers: Any = settled_numbers.to_numpy()
    except (KeyError, pa.ArrowException, ValueError):
        raise faults.no_entity(f"a table of {', '.join(table.column_names)}") from None
    if spaces.null_count or table["number"].null_count:
        raise faults.no_entity("a table with nulls")
    codes = spaces.indices.to_numpy()
    return of_arrays(
        {
            text: sorted_set(numbers[codes == code])
            for code, text in enumerate(spaces.dictionary.to_pylist())
        }
    )
