"""What programs are compared with: rows of numpy, and what they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import cenote
from cenote import _cenote

FIXED = cenote.fixed(32, 16)
ROWS: dict[str, Any] = {
    "u8": np.array([0, 1, 7, 255, 128], dtype=np.uint8),
    "i8": np.array([5, -1, -128, 127, 3], dtype=np.int8),
    "u32": np.array([9, 2**32 - 1, 5, 1000, 6], dtype=np.uint32),
    "i32": np.array([-9, 2**31 - 1, -(2**31), 1000, -7], dtype=np.int32),
    "i64": np.array([-3, 2**62, -(2**63), 12345678901, 2], dtype=np.int64),
}


@pytest.fixture(name="s")
def in_the_clear() -> Iterator[cenote.Session]:
    """Give a session without secrecy, to the test files that import this."""
    with cenote.Session(_cenote.Program.clear(3)) as made:
        yield made


def same(secret: Any, expected: Any) -> None:
    """Check that it opens to what numpy gives, of its shape and type."""
    got = secret.open()
    assert np.shape(got) == np.shape(expected)
    if hasattr(expected, "dtype") and secret.dtype.is_numpy:
        assert got.dtype == expected.dtype
    assert np.array_equal(got, expected)


class Counting:
    """The native class, which counts what is given to it."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.steps = 0

    def __getattr__(self, name: str) -> Any:
        made = getattr(self.native, name)
        if name not in ("input", "public", "apply", "define", "circuit", "reveal"):
            return made

        def counted(*given: Any) -> Any:
            self.steps += 1
            return made(*given)

        return counted


@contextmanager
def counted() -> Iterator[tuple[cenote.Session, Callable[[], int]]]:
    """Give a session in the clear, and what tells how many steps it has done."""
    native: Any = Counting(_cenote.Program.clear(3))
    with cenote.Session(native) as s:
        yield s, lambda: native.steps
