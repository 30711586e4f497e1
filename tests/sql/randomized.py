"""Random tables and queries of the kind that both DuckDB and we can answer."""

from __future__ import annotations

from random import Random

TABLES = {"t": ("a", "b", "c"), "u": ("a", "d"), "v": ("b", "e")}
Rows = dict[str, list[tuple[int, ...]]]


def create() -> str:
    """Return the statements that make the tables."""
    made = (f"create table {t} ({', '.join(f'{c} int' for c in cs)})" for t, cs in TABLES.items())
    return ";".join(made)


def rows(r: Random) -> Rows:
    """Return random rows for each table, each once."""
    return {
        table: sorted({tuple(r.randint(0, 4) for _ in columns) for _ in range(r.randint(0, 8))})
        for table, columns in TABLES.items()
    }


def inserts(data: Rows) -> str:
    """Return the statements that fill the tables."""
    return ";".join(
        f"insert into {table} values {', '.join(_tuple(row) for row in found)}"
        for table, found in data.items()
        if found
    )


def _tuple(row: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, row))})"


class Queries:
    """Makes queries."""

    def __init__(self, r: Random) -> None:
        self.r = r

    def query(self) -> str:
        """Return SELECTs, put together by set operations."""
        width = self.r.choice([1, 2])
        made = self._select(width)
        for _ in range(self.r.choice([0, 0, 0, 1, 2])):
            made += f" {self.r.choice(['union', 'except', 'intersect'])} {self._select(width)}"
        return made

    def recursive(self) -> str:
        """Return a recursive view over the pairs that a query gives, and a SELECT from it."""
        step = self.r.choice(
            ["s.p, x.q from s, r x where s.q = x.p", "x.p, s.q from r x join s on x.q = s.p"]
        )
        limit = f" and {self._condition(['s.p', 's.q', 'x.p', 'x.q'], 2)}"
        where = limit if " where " in step else limit.replace(" and", " where", 1)
        body = f"select * from s union select {step}{where if self.r.random() < 0.6 else ''}"
        base = self._select(2)
        columns = f"{', '.join(('r.p', 'r.q'))} from r"
        return f"with recursive s(p, q) as ({base}), r(p, q) as ({body}) select {columns}"

    def _select(self, width: int) -> str:
        r = self.r
        source, columns = self._sources()
        where = f" where {self._condition(columns)}" if r.random() < 0.7 else ""
        if r.random() < 0.7:
            items = [f"{self._expression(columns)} as o{i}" for i in range(width)]
            return f"select distinct {', '.join(items)} from {source}{where}"
        groups = list(dict.fromkeys(r.choice(columns) for _ in range(r.choice([0, 1, 2]))))
        found = [*groups[: width - 1], self._aggregate(columns)]
        found += [self._aggregate(columns) for _ in range(width - len(found))]
        by = f" group by {', '.join(groups)}" if groups else ""
        having = ""
        if groups and r.random() < 0.4:
            having = f" having {self._aggregate(columns)} {r.choice('<>')} {r.randint(0, 3)}"
        items = [f"{item} as o{i}" for i, item in enumerate(found)]
        return f"select {', '.join(items)} from {source}{where}{by}{having}"

    def _sources(self) -> tuple[str, list[str]]:
        r = self.r
        source = ""
        columns: list[str] = []
        for i in range(r.choice([1, 1, 2, 2, 3])):
            table = r.choice(list(TABLES))
            new = [f"x{i}.{column}" for column in TABLES[table]]
            if not i:
                source = f"{table} x{i}"
            elif r.random() < 0.5:
                source += f" join {table} x{i} on {r.choice(columns)} = {r.choice(new)}"
            else:
                source += f", {table} x{i}"
            columns += new
        return source, columns

    def _condition(self, columns: list[str], depth: int = 0) -> str:
        r, kind, column = self.r, self.r.random(), self.r.choice(columns)
        if depth < 2 and kind < 0.3:
            two = [self._condition(columns, depth + 1) for _ in range(2)]
            return f"({two[0]} or {two[1]})" if kind < 0.2 else f"not ({two[0]} and {two[1]})"
        if kind < 0.5:
            return f"{column} {r.choice(['=', '<', '<=', '>', '!='])} {r.randint(0, 4)}"
        if kind < 0.8 or depth >= 2:
            return f"{column} {r.choice(['=', '<', '>=', '<>'])} {r.choice(columns)}"
        if kind < 0.85:
            return f"{column} between {r.randint(0, 2)} and {r.randint(2, 4)}"
        negated = r.choice(["", "not "])
        if kind < 0.9:
            return f"{column} {negated}in ({r.randint(0, 4)}, {r.randint(0, 4)})"
        table, name = r.choice(list(TABLES)), f"z{depth}"
        inner = [f"{name}.{each}" for each in TABLES[table]]
        if kind < 0.95:
            tie = f"{r.choice(inner)} {r.choice(['=', '=', '<'])} {column}"
            more = self._condition([*inner, *columns], 2)
            return f"{negated}exists (select 1 from {table} {name} where {tie} and {more})"
        more = self._condition(inner, 2)
        return f"{column} {negated}in (select {r.choice(inner)} from {table} {name} where {more})"

    def _expression(self, columns: list[str]) -> str:
        r, kind, column = self.r, self.r.random(), self.r.choice(columns)
        if kind < 0.6:
            return column
        if kind < 0.9:
            return f"{column} {r.choice('+-*')} {r.choice([*columns, '1', '2'])}"
        if kind < 0.95:
            return f"({column} + 1) * 2"
        tie = f"q.a {r.choice(['=', '<='])} {column}"
        return f"(select {r.choice(['max', 'min', 'count'])}(q.d) from u q where {tie})"

    def _aggregate(self, columns: list[str]) -> str:
        r = self.r
        if r.random() < 0.2:
            return "count(*)"
        distinct = r.choice(["", "", "distinct "])
        return f"{r.choice(['count', 'sum', 'min', 'max'])}({distinct}{r.choice(columns)})"
