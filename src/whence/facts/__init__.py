"""Facts: Arrow tables from and to files, one module per format."""
