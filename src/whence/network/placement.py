"""Which processor holds the tuples of an address: each its own, by hash, or as said."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from whence.network.model import Address


@dataclass(frozen=True, slots=True)
class OneToOne:
    """Each address is a processor of its own."""

    def processor(self, address: Address) -> str:
        """Return the address itself."""
        return str(address)


@dataclass(frozen=True, slots=True)
class Hashed:
    """Addresses are spread over processors by a hash that is the same everywhere."""

    processors: tuple[str, ...]
    _known: dict[Address, str] = field(default_factory=dict, repr=False, compare=False)

    def processor(self, address: Address) -> str:
        """Return the processor of an address.

        >>> spread = hashed(12)
        >>> spread.processor("n1") == spread.processor("n1") in spread.processors
        True
        """
        found = self._known.get(address)
        if found is None:
            code = zlib.crc32(str(address).encode("utf-8", "surrogatepass"))
            found = self._known[address] = self.processors[code % len(self.processors)]
        return found


@dataclass(frozen=True, slots=True)
class Explicit:
    """Addresses are where a table says; others at the processor that is called like them."""

    table: Mapping[Address, str]

    def processor(self, address: Address) -> str:
        """Return the processor of an address."""
        return self.table.get(address) or str(address)


def hashed(count: int) -> Hashed:
    """Return a placement on so many processors, `p0` and so on."""
    return Hashed(tuple(f"p{i}" for i in range(count)))


def dealt(addresses: Iterable[Address], count: int) -> Explicit:
    """Return a placement that deals addresses out to so many processors in turn."""
    return Explicit({address: f"p{i % count}" for i, address in enumerate(addresses)})
