"""The repository: reduced graphs of all jobs of a workflow, merged by identity, to be asked.

`repository.py` is what people use. `manifest.py` says what is there, `index.py` makes it quick,
`walk.py` answers; Parquet files hold the edges and DuckDB reads them for everything else.
"""
