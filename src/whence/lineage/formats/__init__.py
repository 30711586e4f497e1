"""Edges from and to documents of others: PROV in its forms, workflow traces, DOT, OpenLineage."""

from whence.lineage.formats.exporting import EXPORTS, export
from whence.lineage.formats.importing import IMPORTS, Imported, import_file
from whence.lineage.formats.openlineage import run_events

__all__ = ["EXPORTS", "IMPORTS", "Imported", "export", "import_file", "run_events"]
