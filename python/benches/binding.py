"""What Python adds to the cost of a computation.

Run it in a checkout with the package installed: ``python benches/binding.py``. All parties run on this machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

import cenote

PROTOCOLS = {"three": 3, "authenticated": 2, "lego": 2, "jimu": 2}
SQL = "SELECT SUM(price * quantity) AS total FROM orders WHERE day < 365 AND quantity < 24"
JOB = """
query = "{sql}"
protocol = "three"
secret_only = {secret_only}
[[table]]
name = "orders"
party = 0
columns = {{ price = "u32 not null", quantity = "u8 not null", day = "u16 not null" }}
max_rows = {rows}
file = "orders.parquet"
[answer]
count = "revealed"
file = "answer.parquet"
"""


class Nothing:
    """Stands for the extension module in a session, and computes nothing."""

    parties, me = 3, None

    def __init__(self) -> None:
        self.steps = 0

    def step(self, *given: Any) -> int:
        """Give the number of the next value."""
        self.steps += 1
        return self.steps

    input = public = apply = step

    def forget(self, values: Any) -> None:
        """Forget nothing."""

    def close(self) -> str:
        """Report of no party."""
        return "[]"


def seconds(run: Callable[[], object]) -> float:
    """Give how long it takes."""
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def processor() -> str:
    """Name the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def imported() -> float:
    """Give the seconds of an import in a fresh process, without the start of the process."""
    code = "import time; begun = time.perf_counter(); import cenote; print(time.perf_counter() - begun)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def calls(s: cenote.Session, count: int) -> None:
    """Make small calls, one after the other."""
    with s:
        x, b = s.input(0, np.arange(8, dtype=np.uint32)), s.input(1, np.arange(8, dtype=np.uint32))
        for _ in range(count):
            x = x + b
        if not isinstance(s._native, Nothing):
            assert x[1].open() == 1 + count


def smallest(protocol: str) -> None:
    """Compare two numbers in a session of its own."""
    with cenote.session(PROTOCOLS[protocol], protocol=protocol) as s:
        assert (s.input(0, 3) > s.input(1, 2)).open()


def orders(rows: int) -> pd.DataFrame:
    """Make a table."""
    random = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "price": random.integers(0, 10_000, rows).astype(np.uint32),
            "quantity": random.integers(1, 51, rows).astype(np.uint8),
            "day": random.integers(0, 2500, rows).astype(np.uint16),
        }
    )


def in_turn(first: Callable[[], object], second: Callable[[], object], repeat: int) -> list[tuple[float, float]]:
    """Give the seconds of both, again and again. Each goes first every other time."""
    taken = []
    for number in range(repeat):
        if number % 2:
            of_second = seconds(second)
            taken.append((seconds(first), of_second))
        else:
            taken.append((seconds(first), seconds(second)))
    return taken


def queries(frame: pd.DataFrame, command: list[str], secret_only: bool, repeat: int) -> list[tuple[float, float]]:
    """Ask a data frame and, by the command, a Parquet file in turn. Give the seconds of both."""
    chosen = frame[(frame.day < 365) & (frame.quantity < 24)]
    expected = int((chosen.price.astype("int64") * chosen.quantity).sum())

    def by_frame() -> None:
        answer = cenote.query(
            SQL, orders=cenote.table(frame, party=0), protocol="three", secret_only=secret_only, progress=False
        )
        assert list(answer) == [(expected,)]

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frame.to_parquet(folder / "orders.parquet", index=False)
        (folder / "job.toml").write_text(JOB.format(sql=SQL, secret_only=str(secret_only).lower(), rows=len(frame)))

        def by_command() -> None:
            subprocess.run([*command, "run", folder / "job.toml"], check=True, stdout=subprocess.DEVNULL)

        taken = in_turn(by_frame, by_command, repeat)
        assert pd.read_parquet(folder / "answer.parquet")["total"].tolist() == [expected]
    return taken


def main() -> None:
    """Measure all of it and print it."""
    usual = f"{shlex.quote(sys.executable)} -m cenote"
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--calls", type=int, default=100_000, help="small calls of a program")
    options.add_argument("--rows", type=int, default=1_000_000, help="rows of the table that queries ask")
    options.add_argument("--repeat", type=int, default=5, help="how often all else is measured")
    options.add_argument("--command", default=usual, help="the command to compare with: %(default)s")
    given = options.parse_args()
    count, repeat = given.calls, given.repeat

    print(f"{processor()}, {os.cpu_count()} cores; Python {platform.python_version()}, cenote {cenote.__version__}")
    print(f"medians of {repeat}\n")
    print(f"import cenote in a fresh process: {1e3 * median(imported() for _ in range(repeat)):.0f} ms\n")

    print(f"x = x + b {count:,} times, of rows of 8 uint32:")
    nothing: Any = Nothing
    calls(cenote.Session(nothing()), 1)
    alone = median(seconds(lambda: calls(cenote.Session(nothing()), count)) for _ in range(repeat))
    print(f"  {1e6 * alone / count:8.2f} µs of Python a call")
    parties = median(seconds(lambda: calls(cenote.session(), count)) for _ in range(repeat))
    print(f"  {1e6 * parties / count:8.2f} µs a call with three parties\n")

    print("the smallest session, which compares two numbers:")
    for protocol in PROTOCOLS:
        taken = median(seconds(lambda protocol=protocol: smallest(protocol)) for _ in range(repeat))  # type: ignore[misc]
        print(f"  {taken:8.3f} s with {protocol}")

    print(f"\n{SQL}\nover {given.rows:,} rows, a data frame and `{given.command} run` with a Parquet file in turn:")
    frame = orders(given.rows)
    for secret_only, what in ((True, "all of it secret"), (False, "by the owner in the clear")):
        pairs = queries(frame, shlex.split(given.command), secret_only, repeat)
        of_frame, of_command = (median(times) for times in zip(*pairs, strict=True))
        ratio = median(by_frame / by_command for by_frame, by_command in pairs)
        print(f"  {of_frame:8.3f} s and {of_command:.3f} s, median ratio of the pairs {ratio:.3f}: {what}")


if __name__ == "__main__":
    main()
