"""The variables of base tuples, and which of them are false.

A variable has one number in the whole network: a processor counts its own and leaves room for those
of others. Within a processor each live variable has a bit, which is used again later. A variable
that is false stays so, and a tuple that is inserted again gets a new one: so a message can be
cleared of it however late it comes.
"""

from __future__ import annotations

from collections.abc import Iterable


class Variables:
    """The variables that one processor has met; it is the `rank`-th of so many `owners`."""

    def __init__(self, rank: int, owners: int, made: int = 0) -> None:
        self._rank = rank
        self._owners = owners
        self._made = made
        self.bits: dict[int, int] = {}
        """The bits of variables, as masks; there is none for what has long been false."""
        self._number: list[int] = []
        self._free: list[int] = []
        self._dead: list[set[int]] = [set() for _ in range(owners)]
        self._below = [0] * owners
        self.false = 0
        """The bits of variables that are false and may still stand in some annotation."""

    def fresh(self) -> int:
        """Return the number of a new variable of this processor."""
        self._made += 1
        return (self._made - 1) * self._owners + self._rank

    def bit(self, number: int) -> int:
        """Return the bit of a variable, as a mask."""
        known = self.bits.get(number)
        if known is None:
            if self._free:
                place = self._free.pop()
                self._number[place] = number
            else:
                place = len(self._number)
                self._number.append(number)
            known = self.bits[number] = 1 << place
        return known

    def number(self, place: int) -> int:
        """Return the variable whose bit has this place."""
        return self._number[place]

    def dead(self, number: int) -> bool:
        """Return whether a variable is known to be false."""
        count, owner = divmod(number, self._owners)
        return count < self._below[owner] or count in self._dead[owner]

    def kill(self, numbers: Iterable[int]) -> frozenset[int]:
        """Remember that variables are false; return those that were not known to be."""
        news = frozenset(number for number in numbers if not self.dead(number))
        for number in news:
            count, owner = divmod(number, self._owners)
            dead = self._dead[owner]
            dead.add(count)
            # Old tuples go first, as a rule: what is false from the beginning on is one number.
            while self._below[owner] in dead:
                dead.discard(self._below[owner])
                self._below[owner] += 1
            self.false |= self.bits.get(number, 0)
        return news

    def mask(self, numbers: Iterable[int]) -> int:
        """Return the bits of those variables that were ever met here."""
        out = 0
        for number in numbers:
            out |= self.bits.get(number, 0)
        return out

    def settle(self) -> None:
        """Free the bits of false variables: no annotation of this processor has them any more."""
        while self.false:
            low = self.false & -self.false
            place = low.bit_length() - 1
            del self.bits[self._number[place]]
            self._free.append(place)
            self.false ^= low
