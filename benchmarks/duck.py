"""One recursive query in DuckDB, in this process: tables first, then only the query is timed."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path


def main() -> None:
    """Print the answer, a count, and the seconds of the query as JSON."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("facts", type=Path)
    options.add_argument("tables", help='{"edge": ["BIGINT", "BIGINT"]}')
    options.add_argument("query")
    options.add_argument("--threads", type=int, default=2)
    given = options.parse_args()

    import duckdb

    database = duckdb.connect()
    database.execute(f"SET threads = {given.threads}")
    for table, types in json.loads(given.tables).items():
        columns = {f"c{i}": type_ for i, type_ in enumerate(types)}
        database.execute(
            f"CREATE TABLE {table} AS SELECT * FROM read_csv(?, delim = '\t', header = false,"
            f" columns = {columns})",
            [str(given.facts / f"{table}.facts")],
        )
    started = time.perf_counter()
    answer = database.execute(given.query).fetchone()
    seconds = time.perf_counter() - started
    assert answer is not None
    print(json.dumps({"tuples": answer[0], "seconds": seconds}))


if __name__ == "__main__":
    main()
