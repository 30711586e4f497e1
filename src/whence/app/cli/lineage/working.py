"""A line on the terminal about work that takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

from whence.app.cli.progress import PATIENCE

if TYPE_CHECKING:
    from rich.status import Status


class Working:
    """Shows what is done now, and for how long, once that is worth watching."""

    def __init__(self, *, enabled: bool | None = None, patience: float = PATIENCE) -> None:
        self._enabled = sys.stderr.isatty() if enabled is None else enabled
        self._patience = patience
        self._started = time.monotonic()
        self._line = ""
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def say(self, line: str) -> None:
        """Show this from now on."""
        self._line = line

    def __enter__(self) -> Working:
        if self._enabled:
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        if self._over.wait(self._patience):
            return
        from rich.console import Console
        from rich.markup import escape

        status: Status
        with Console(stderr=True).status("") as status:
            while True:
                seconds = time.monotonic() - self._started
                status.update(f"{escape(self._line)}  {seconds:,.0f} s")
                if self._over.wait(0.25):
                    return


def remark(text: str) -> None:
    """Say something beside the answer, and after what was said of it already."""
    sys.stdout.flush()
    print(text, file=sys.stderr)
