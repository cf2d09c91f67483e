"""Bars for work that takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

Listener = Callable[[int, int], object]

# Who waits no longer than this needs no bar.
_PATIENCE = 1.0


def _is_watched() -> bool:
    """Tell whether somebody may be looking: at a terminal, or at a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Bar:
    """Shows how much is done, by tqdm where that is installed, or calls a function."""

    def __init__(self, what: str, wanted: bool | Listener | None) -> None:
        self._what = what
        self._start = time.monotonic()
        self._bar: Any = None
        self._patience = _PATIENCE if wanted is None else 0.0
        self.listener: Callable[[Any, Any], object] | None = None
        if callable(wanted):
            function = wanted

            def forward(done: Any, total: Any) -> None:
                if total is not None:
                    function(done, total)

            self.listener = forward
        elif wanted or (wanted is None and _is_watched()):
            self.listener = self._hear

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def _hear(self, done: Any, total: Any) -> None:
        if time.monotonic() - self._start < self._patience:
            return
        if self._bar is None:
            self._bar = self._new()
            if self._bar is None:
                self.listener = None
                return
        if total is None:
            self._bar.set_description(str(done))
            return
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def _new(self) -> Any:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        return tqdm(desc=self._what, unit="AND", unit_scale=True, leave=False)
