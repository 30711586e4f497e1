"""What explanations cost: a run that keeps what they need beside one that does not, and proofs.

Run as a process of its own: `python -m benchmarks.provenance.explain '{…}'` prints JSON. It stays
small, as the processes whose memory it measures begin with its own.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from benchmarks.measured import progress, tell
from benchmarks.process import python, run

RUNS: Final = ("idle", "plain", "explained")


def kept(asked: dict[str, Any], runs: int) -> dict[str, Any]:
    """Evaluate in fresh processes, by turns; the quickest counts, and of memory the highest."""
    found: dict[str, Any] = {}
    for _ in range(runs):
        for name in RUNS:
            options = json.dumps({**asked, "run": name})
            cost = json.loads(run(python("-m", "benchmarks.provenance.kept_run", options)).stdout)
            best = found.setdefault(name, cost)
            best["seconds"] = min(best["seconds"], cost["seconds"])
            best["peak_bytes"] = max(best["peak_bytes"], cost["peak_bytes"])
            best["later_bytes"] = max(best["later_bytes"], cost["later_bytes"])
    progress(f"kept: {found}")
    return found


def main() -> None:
    """Measure all of it."""
    asked = json.loads(sys.argv[1])
    quick = asked["quick"]
    asked["nodes"] = 200 if quick else 2000
    found = kept(asked, 1 if quick else 5)
    options = json.dumps({**asked, "facts": 30 if quick else 300})
    proofs = json.loads(run(python("-m", "benchmarks.provenance.proofs", options)).stdout)
    tell({"nodes": asked["nodes"], "kept": found, **proofs})


if __name__ == "__main__":
    main()
