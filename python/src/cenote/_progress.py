"""What is told while work goes on: bars, and waits for other parties."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

Listener = Callable[[int, int], object]

# Who waits no longer than this needs no bar.
_PATIENCE = 1.0

_log = logging.getLogger("cenote")


def is_watched() -> bool:
    """Tell whether somebody may be looking: at a terminal, or at a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Bar:
    """Shows how much is done, by tqdm where that is installed, or calls a function; and logs waits."""

    def __init__(self, what: str, wanted: bool | Listener | None, unit: str = "AND") -> None:
        self._what = what
        self._unit = unit
        self._start = time.monotonic()
        self._bar: Any = None
        self._function = wanted if callable(wanted) else None
        self._shows = self._function is None and (is_watched() if wanted is None else bool(wanted))
        self._patience = _PATIENCE if wanted is None else 0.0

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def listener(self, kind: str, told: Any, total: Any) -> None:
        """Hear what work tells: its progress, what it is about, or whom it waits for."""
        match kind:
            case "waiting":
                _log.warning("%s", told)
            case "progress" if self._function is not None:
                self._function(told, total)
            case _ if self._is_due():
                self._show(kind, told, total)

    def _is_due(self) -> bool:
        if not self._shows or time.monotonic() - self._start < self._patience:
            return False
        if self._bar is None:
            self._bar = _new_bar(self._what, self._unit)
            self._shows = self._bar is not None
        return self._shows

    def _show(self, kind: str, told: Any, total: Any) -> None:
        if kind == "about":
            self._bar.set_description(told)
        else:
            self._bar.total = total
            self._bar.update(told - self._bar.n)


def _new_bar(what: str, unit: str) -> Any:
    try:
        # In a notebook without widgets it warns, and shows its bar as text.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(desc=what, unit=unit, unit_scale=True, leave=False)
