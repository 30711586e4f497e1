"""An interrupt that waits for a good moment: one thread notes it, another raises it later."""

from __future__ import annotations

import threading


class Interrupt:
    """Whether somebody wants the work to end, and whether it still can."""

    def __init__(self) -> None:
        self.patience = 0.0
        """Seconds that the work wants for an orderly end; 0 while nothing has been begun."""
        self._lock = threading.RLock()  # a handler may come in the middle
        self._noted = False
        self._settled = False

    @property
    def noted(self) -> bool:
        """Whether the work is to end."""
        return self._noted

    def note(self) -> bool:
        """Have the work end; return whether it will, which it does not once it has settled."""
        with self._lock:
            self._noted = not self._settled
            return self._noted

    def check(self) -> None:
        """Raise the interrupt if there was one: called between steps."""
        if self._noted:
            raise KeyboardInterrupt

    def settle(self) -> None:
        """Raise the interrupt if there was one, and take none from now on: outputs appear."""
        with self._lock:
            self._settled = not self._noted
        self.check()
