"""Whence: Datalog that says where every answer comes from.

Names load on first use, so that `import whence` stays quick and loads no numeric library.
"""

from __future__ import annotations

__version__ = "0.1.0"
