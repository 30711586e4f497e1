"""The part of a `Database` that speaks SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence.committed import Committed
    from whence.sql import Changeable
    from whence.table import Table


class InSQL:
    """Tables, views and statements in SQL, over the relations of a database."""

    _committed: Committed

    def sql(self, text: str) -> Table | None:
        """Run statements of SQL in order, and return the answer of the last SELECT.

        Tables and views become relations; INSERT, DELETE and UPDATE are commits. See
        `docs/reference/sql.md`.

        >>> from whence import Database
        >>> db = Database()
        >>> db.sql('''
        ... CREATE TABLE link (src INT, dst INT);
        ... WITH RECURSIVE reachable (src, dst) AS (
        ...   SELECT src, dst FROM link
        ...   UNION SELECT link.src, reachable.dst FROM link, reachable
        ...   WHERE link.dst = reachable.src);
        ... INSERT INTO link VALUES (1, 2), (2, 3);
        ... ''')
        >>> db.sql("SELECT dst FROM reachable WHERE src = 1").rows()
        [(2,), (3,)]
        """
        from whence import sql

        database: Changeable = self  # type: ignore[assignment]
        derived = self._committed.derived
        settings = derived.settings
        return sql.run(
            database,
            text,
            functors=derived.functors,
            limits=settings.limits,
            threads=settings.threads,
        )
