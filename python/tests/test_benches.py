"""The measurements run, and print what they say."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import cenote

SCRIPT = Path(__file__).resolve().parents[1] / "benches" / "binding.py"


def test_the_cost_of_the_binding_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--calls", "50", "--rows", "500", "--repeat", "1"],
        env={**os.environ, "PYTHONPATH": str(Path(cenote.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [
        "ms\n",
        "µs of Python a call",
        "µs a call with three parties",
        *(f"s with {protocol}\n" for protocol in ("three", "authenticated", "lego", "jimu")),
        "over 500 rows",
        "ratio",
        "all of it secret",
        "by the owner in the clear",
    ]
    for part in said:
        assert part in done.stdout


def test_pairs_are_measured_in_alternating_order() -> None:
    spec = importlib.util.spec_from_file_location("binding", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    binding = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(binding)
    order: list[str] = []
    assert len(binding.in_turn(lambda: order.append("a"), lambda: order.append("b"), 3)) == 3
    assert order == ["a", "b", "b", "a", "a", "b"]
