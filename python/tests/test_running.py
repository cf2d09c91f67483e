"""How runs end, and what they are to the process that starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import cenote


def test_errors_are_one_tree() -> None:
    for kind in (
        cenote.UsageError,
        cenote.NetworkError,
        cenote.CheatingDetected,
        cenote.BadInput,
        cenote.PeerReported,
        cenote.Stopped,
        cenote.InternalError,
    ):
        assert issubclass(kind, cenote.CenoteError)
        assert kind.__module__ == "cenote"


def test_wrong_calls_say_what_to_write() -> None:
    table = cenote.table(pa.table({"x": [1]}), party=0)
    with pytest.raises(cenote.UsageError, match="line 1, column 8: there is no column y"):
        cenote.query("SELECT y FROM t", t=table)
    with pytest.raises(cenote.UsageError, match="give each by its name"):
        cenote.query("SELECT 1")
    with pytest.raises(cenote.UsageError, match=r"whose table is t\? Write t=cenote.table"):
        cenote.query("SELECT x FROM t", t=pa.table({"x": [1]}))
    with pytest.raises(cenote.UsageError, match="only declared"):
        cenote.query("SELECT x FROM t", t=cenote.declared(party=0, columns={"x": "u8"}, max_rows=1))
    with pytest.raises(cenote.UsageError, match='there is no protocol "four"; write protocol = "three"'):
        cenote.query("SELECT x FROM t", protocol="four", t=table)
    with pytest.raises(cenote.UsageError, match="a timeout is a number of seconds"):
        cenote.query("SELECT x FROM t", timeout=-1, t=table)
    with pytest.raises(cenote.UsageError, match="party"):
        cenote.query("SELECT x FROM t", t=cenote.table(pa.table({"x": [1]}), party=7))


def test_names_are_quoted_as_they_must_be() -> None:
    odd = 'a "b" \\ \x7f é'
    table = cenote.table(pa.table({odd: [5]}), party=0)
    sql = f'SELECT "{odd.replace(chr(34), chr(34) * 2)}" AS x FROM t'
    assert list(cenote.query(sql, t=table)) == [(5,)]


LONG = """
    import cenote, pyarrow as pa
    n = 100_000
    a = cenote.table(pa.table({"x": list(range(n)), "y": list(range(n))}), party=0)
    b = cenote.table(pa.table({"x": list(range(n))}), party=1)
    options = {"protocol": "three", "secret_only": True}
    sql = "SELECT x FROM (SELECT x FROM a UNION ALL SELECT x FROM b) ORDER BY x"
"""


def program(text: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(LONG) + textwrap.dedent(text)]


def children_of(process: int) -> list[str]:
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [child for task in tasks for child in (task / "children").read_text().split()]


def test_an_interrupt_ends_a_run_within_a_second() -> None:
    text = """
        def told(done, total):
            print("running", flush=True)
        try:
            cenote.query(sql, a=a, b=b, progress=told, **options)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            # What follows is not stopped by it.
            print(list(cenote.query("SELECT COUNT(*) FROM a", a=a)), flush=True)
    """
    with subprocess.Popen(program(text), stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "running\n"
        assert len(children_of(running.pid)) == 3
        start = time.monotonic()
        # To this process only, as notebooks do it.
        os.kill(running.pid, signal.SIGINT)
        line = "running\n"
        while line == "running\n":
            line = running.stdout.readline()
        assert line == "interrupted\n"
        assert time.monotonic() - start < 1.0
        assert running.stdout.read() == "[(100000,)]\n"
    assert running.returncode == 0


def test_an_interrupt_ends_no_other_query() -> None:
    text = """
        import threading
        answers = []
        other = threading.Thread(target=lambda: answers.append(len(cenote.query(sql, a=a, b=b, **options))))
        other.start()
        class Enough(Exception):
            pass
        def refuse(done, total):
            raise Enough
        for _ in range(3):
            try:
                cenote.query(sql, a=a, b=b, progress=refuse, **options)
            except Enough:
                pass
        other.join()
        print(answers, list(cenote.query("SELECT COUNT(*) FROM a", a=a)))
    """
    done = subprocess.run(program(text), capture_output=True, text=True, check=False)
    assert done.stdout == "[200000] [(100000,)]\n", done.stderr


def test_an_interrupt_ends_planning() -> None:
    text = """
        import signal, threading, time
        big = {"x": "u64 not null", "y": "char(30)"}
        a, b = (cenote.declared(party=party, columns=big, max_rows=3_000_000) for party in (0, 1))
        threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,)).start()
        cenote.limit_memory(1_000_000)
        start = time.monotonic()
        try:
            cenote.plan("SELECT y, COUNT(*) FROM (SELECT * FROM a UNION ALL SELECT * FROM b) GROUP BY y",
                        a=a, b=b, protocol="three", secret_only=True)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - start)
        import os
        os._exit(0)
    """
    done = subprocess.run(program(text), capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    word, seconds = done.stdout.split()
    assert word == "interrupted"
    assert float(seconds) < 1.3


def test_no_table_is_left_behind(tmp_path: Path) -> None:
    text = """
        cenote.query(sql, a=a, b=b, progress=lambda done, total: print("running", flush=True), **options)
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(program(text), stdout=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "running\n"
        running.kill()
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["cenote-call.toml"]


def test_a_parent_that_is_killed_leaves_no_processes() -> None:
    text = """
        cenote.query(sql, a=a, b=b, progress=lambda done, total: print("running", flush=True), **options)
    """
    with subprocess.Popen(program(text), stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "running\n"
        children = children_of(running.pid)
        assert len(children) == 3
        running.kill()
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_forked_children_are_told_to_be_spawned() -> None:
    table = cenote.table(pa.table({"x": [1]}), party=0)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            cenote.query("SELECT x FROM t", t=table)
        except cenote.UsageError as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as told:
        assert "spawn" in told.read()


def test_other_threads_run_meanwhile() -> None:
    table = cenote.table(pa.table({"x": list(range(3000))}), party=0)
    other = cenote.table(pa.table({"x": list(range(3000))}), party=1)
    sql = "SELECT x FROM (SELECT x FROM a UNION ALL SELECT x FROM b) ORDER BY x LIMIT 3"
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    counting = threading.Thread(target=count)
    counting.start()
    answers = []
    asking = [threading.Thread(target=lambda: answers.append(list(cenote.query(sql, a=table, b=other)))) for _ in "ab"]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    done.set()
    counting.join()
    assert answers == [[(0,), (0,), (1,)]] * 2
    assert counted > 20


def test_importing_starts_nothing_and_is_quick() -> None:
    code = """
        import sys, time, os
        start = time.perf_counter()
        import cenote
        print(time.perf_counter() - start, len(os.listdir("/proc/self/task")))
        others = {"pandas", "polars", "pyarrow", "numpy", "httpx", "tqdm"}
        print(sorted(others & set(sys.modules)))
    """
    best = float("inf")
    for _ in range(3):
        told = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
        first, modules = told.stdout.splitlines()
        seconds, threads = first.split()
        assert threads == "1"
        assert modules == "[]"
        best = min(best, float(seconds))
    assert best < 0.1


def test_files_beside_the_program_are_not_taken_for_modules(tmp_path: Path) -> None:
    (tmp_path / "cenote.py").write_text("raise SystemExit('the wrong one')")
    (tmp_path / "signal.py").write_text("raise SystemExit('the wrong one')")
    code = """
        import sys
        sys.path = [place for place in sys.path if place]
        import cenote, pyarrow as pa
        print(list(cenote.query("SELECT x FROM t", t=cenote.table(pa.table({"x": [1]}), party=0))))
    """
    told = subprocess.run(
        [sys.executable, "-I", "-c", textwrap.dedent(code)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.stdout == "[(1,)]\n", told.stderr


def test_the_command_is_there(tmp_path: Path) -> None:
    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cenote", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    assert command("--version").stdout == f"cenote {cenote.__version__}\n"
    demo = command("demo")
    assert demo.returncode == 0, demo.stderr
    assert "rows" in demo.stdout
    assert command("run", "nowhere.toml").returncode == 2
    missing = command("serve")
    assert missing.returncode == 2
    assert "cenote-serve" in missing.stderr


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before CPython 3.12, sub-interpreters take any module")
def test_sub_interpreters_cannot_load_it() -> None:
    code = """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        import sys
        import cenote
        other = interpreters.create()
        run = getattr(interpreters, "exec", None) or interpreters.run_string
        try:
            print(run(other, f"import sys; sys.path = {sys.path!r}; import cenote"))
        except interpreters.RunFailedError as error:
            print(error)
    """
    told = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert "does not support loading in subinterpreters" in told.stdout, told.stderr
