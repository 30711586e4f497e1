"""The figures of the papers on networks, beside what the papers say of them."""
