"""Durable state: numbered batches and snapshots of bytes, whole or not at all.

Nothing here knows of rules or engines. `docs/explanation/durability.md` says what is promised.
"""

from whence.store.reader import Reader
from whence.store.recover import Recovered
from whence.store.repair import Report, check, repair
from whence.store.store import Store

__all__ = ["Reader", "Recovered", "Report", "Store", "check", "repair"]
