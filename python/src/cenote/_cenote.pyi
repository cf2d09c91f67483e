"""The extension module: what the package needs of the crates."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

__all__ = [
    "JOB",
    "BadInput",
    "CenoteError",
    "CheatingDetected",
    "Frame",
    "InternalError",
    "NetworkError",
    "Passed",
    "PeerReported",
    "Program",
    "Stopped",
    "UsageError",
    "__version__",
    "limit_memory",
    "main",
    "party_number",
    "plan_query",
    "run_party",
    "run_query",
    "started_by",
]

JOB: str
__version__: str

class CenoteError(Exception):
    """Anything that goes wrong in Cenote."""

class UsageError(CenoteError):
    """A call, a job or a query is wrong, or the parties were given different jobs."""

class NetworkError(CenoteError):
    """A peer is missing, silent, gone, or not the one that was expected."""

class CheatingDetected(CenoteError):
    """A check of the protocol failed at a party: one of the others did not do what the protocol says."""

class BadInput(CenoteError):
    """Data is missing or wrong. The message names the table, the column and the row, and never quotes the value."""

class PeerReported(CenoteError):
    """A peer stopped and says that a check failed there."""

class Stopped(CenoteError):
    """It was stopped by its operator, in order."""

class InternalError(CenoteError):
    """This machine failed, or Cenote has a mistake in it."""

@final
class Frame:
    @staticmethod
    def from_arrow(data: object, columns: Sequence[tuple[str, str]] | None, name: str) -> Frame: ...
    @staticmethod
    def read(path: str | os.PathLike[str], columns: Sequence[tuple[str, str]], max_rows: int) -> Frame: ...
    @staticmethod
    def of_parquet(path: str | os.PathLike[str]) -> Frame: ...
    @property
    def columns(self) -> list[tuple[str, str, bool]]: ...
    @property
    def left_out(self) -> list[tuple[str, str]]: ...
    def __len__(self) -> int: ...
    def write(self, path: str | os.PathLike[str]) -> None: ...
    def show(self, rows: int) -> str: ...
    def cells(self, rows: int) -> list[list[str | None]]: ...
    def row(self, row: int) -> tuple[Any, ...]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Passed:
    def __new__(cls, frames: Sequence[Frame]) -> Passed: ...
    @property
    def paths(self) -> list[str]: ...

@final
class Program:
    @staticmethod
    def here(
        name: str,
        parties: int,
        protocol: str | None,
        security: int | None,
        and_gates: int | None,
        timeout: float,
        phase_timeout: float | None,
    ) -> Program: ...
    @staticmethod
    def between(
        config: Path, name: str, protocol: str | None, security: int | None, and_gates: int | None
    ) -> Program: ...
    @staticmethod
    def clear(parties: int) -> Program: ...
    @staticmethod
    def recording(widths: Sequence[int]) -> Program: ...
    @property
    def parties(self) -> int: ...
    @property
    def me(self) -> int | None: ...
    def input(self, owner: int, width: int, lanes: int, data: bytes | None, kind: str) -> int: ...
    def public(self, width: int, lanes: int, data: bytes) -> int: ...
    def apply(self, name: str, operands: Sequence[int], numbers: Sequence[int]) -> int: ...
    def define(self, function: Program, outputs: Sequence[int]) -> int: ...
    def circuit(self, name: str | os.PathLike[str], text: str) -> tuple[int, list[int], list[int]]: ...
    def to_bristol(self, outputs: Sequence[int]) -> str: ...
    def reveal(self, values: Sequence[int], to: Sequence[int], kinds: Sequence[str]) -> list[bytes] | None: ...
    def forget(self, values: Sequence[int]) -> None: ...
    def close(self) -> str: ...
    def stop(self) -> None: ...

def main(args: Sequence[str]) -> int: ...
def started_by(program: Sequence[str]) -> None: ...
def limit_memory(bytes: int) -> None: ...
def run_query(
    job: Path,
    answer: Path,
    timeout: float,
    phase_timeout: float | None,
    listener: Callable[[str, Any, Any], object] | None,
) -> tuple[Frame | None, str]: ...
def plan_query(
    job: Path, link: str, timeout: float, listener: Callable[[str, Any, Any], object] | None
) -> tuple[str, str]: ...
def party_number(config: Path) -> int: ...
def run_party(
    config: Path, job: Path, answer: Path | None, listener: Callable[[str, Any, Any], object] | None
) -> tuple[Frame | None, str]: ...
