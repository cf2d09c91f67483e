"""Programs: sessions, functions, and how they run."""

from __future__ import annotations

import collections
import dataclasses
import operator
import os
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from against_numpy import in_the_clear as in_the_clear
from against_numpy import same

import cenote
from cenote import _cenote


def test_reveal(s: cenote.Session) -> None:
    x = s.input(0, [3, 1])
    assert s.reveal(x, x + 1)[1].tolist() == [4, 2]
    assert x.reveal(to=[0, 2]).tolist() == [3, 1]
    with pytest.raises(TypeError, match=r"to=\[0\]"):
        x.reveal(to=0)  # type: ignore[arg-type]
    with pytest.raises(cenote.UsageError, match="somebody learns it"):
        x.reveal(to=[])
    with pytest.raises(cenote.UsageError, match="no such party"):
        x.reveal(to=[7])


def test_closed_sessions_and_others() -> None:
    with cenote.Session(_cenote.Program.clear(2)) as first:
        x = first.input(0, [1])
        with cenote.Session(_cenote.Program.clear(2)) as second:
            y = second.input(0, [1])
            for mix in (
                lambda: x + y,
                lambda: x == y,
                lambda: cenote.where(x > 0, y, 0),
                lambda: cenote.concatenate([x, y]),
                lambda: second.reveal(x),
                lambda: second.memory(x),
                lambda: second.shuffle(x, y),
                lambda: second.where(x > 0, x, x),
            ):
                with pytest.raises(cenote.UsageError, match="of two sessions"):
                    mix()
    assert first.report is not None
    for late in (lambda: x + x, lambda: x.open(), lambda: first.input(0, 1), lambda: x + 5):
        with pytest.raises(cenote.UsageError, match="the session is closed"):
            late()
    first.close()
    third = cenote.Session(_cenote.Program.clear(2))
    z = third.input(0, 1)
    with pytest.raises(ZeroDivisionError), third:
        operator.truediv(1, 0)
    with pytest.raises(cenote.UsageError, match="stopped by an error"):
        z + 1


def test_secrets_that_are_gone_are_forgotten() -> None:
    code = """
import resource
import numpy as np
import cenote
from cenote import _cenote
with cenote.Session(_cenote.Program.clear(1)) as s:
    x = s.input(0, np.ones(3_000_000, dtype=np.uint64))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(60):
        x = x + 1
    assert x[0].open() == 61
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # Each row has 24 MB, and all of them 1.4 GB.
    assert int(done.stdout) < 500_000


class Native:
    """A native class whose calls fail as they are told to."""

    parties, me = 2, None

    def __init__(self, **fails: BaseException) -> None:
        self.fails = fails
        self.called: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any) -> Any:
            self.called.append(name)
            if name in self.fails:
                raise self.fails[name]
            return {"close": "[]", "reveal": [b"1" * 8]}.get(name, len(self.called))

        return call


def session_of(native: Any) -> cenote.Session:
    return cenote.Session(native)


def test_the_exception_of_a_program_gets_through() -> None:
    native = Native(stop=cenote.NetworkError("gone"))
    with pytest.raises(ZeroDivisionError), session_of(native) as s:
        operator.truediv(1, 0)
    assert native.called == ["stop"]
    assert repr(s) == "<session of 2 parties, ended>"
    s.close()


@pytest.mark.parametrize("where", ["reveal", "apply", "input", "public"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), cenote.NetworkError("gone")], ids=["interrupt", "network"])
def test_a_session_that_has_ended_closes_in_silence(where: str, error: BaseException) -> None:
    native = Native(**{where: error})
    s = session_of(native)
    assert repr(s) == "<session of 2 parties>"
    with pytest.raises(type(error)):
        (s.input(0, 5) * 3).open()
    assert repr(s) == "<session of 2 parties, ended>"
    assert native.called[-1] == "stop"
    s.close()
    assert "close" not in native.called
    with pytest.raises(cenote.UsageError, match=r"the session has ended: (gone|it was interrupted)"):
        s.input(0, 5)


def test_sessions_that_do_not_close_are_stopped() -> None:
    native = Native(close=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt), session_of(native):
        pass
    assert native.called == ["close", "stop"]
    native = Native(close=cenote.UsageError("the session has ended: it was interrupted"))
    with session_of(native) as s:
        pass
    assert repr(s) == "<session of 2 parties, ended>"
    native = Native(close=cenote.UsageError("another thread is using this session"))
    s = session_of(native)
    with pytest.raises(cenote.UsageError, match="another thread"):
        s.close()
    assert repr(s) == "<session of 2 parties>"
    native.fails.clear()
    s.close()
    assert repr(s) == "<session of 2 parties, closed>"


def test_another_thread_is_told_and_may_stop() -> None:
    s = cenote.session(parties=2, and_gates=5_000_000)
    told: list[BaseException] = []
    opens = threading.Event()

    def long() -> None:
        x = s.input(0, np.arange(2000, dtype=np.uint64))
        for _ in range(200):
            x = x * x
        opens.set()
        try:
            x.open()
        except cenote.CenoteError as error:
            told.append(error)

    thread = threading.Thread(target=long)
    thread.start()
    assert opens.wait(20)
    time.sleep(0.5)
    with pytest.raises(cenote.UsageError, match="another thread is using this session"):
        s.input(1, 5)
    s._stop("the session was stopped by an error")
    thread.join(20)
    assert not thread.is_alive()
    assert len(told) == 1
    s.close()


def test_an_interrupt_ends_a_session() -> None:
    s = cenote.session(parties=2, and_gates=5_000_000)
    x = s.input(0, np.arange(2000, dtype=np.uint64))
    for _ in range(200):
        x = x * x
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        x.open()
    timer.join()
    assert repr(s) == "<session of 2 parties, ended>"
    s.close()
    with pytest.raises(cenote.UsageError, match="it was interrupted"):
        x + 1


def test_functions(s: cenote.Session, tmp_path: Path) -> None:
    def richer(a: cenote.Secret, b: cenote.Secret) -> tuple[cenote.Secret, cenote.Secret]:
        return a > b, cenote.where(a > b, a, b) + 1

    f = s.function(richer, np.int16, np.int16)
    assert f.inputs == (cenote.int_(16),) * 2
    assert [repr(of) for of in f.outputs] == ["bool", "int16"]
    more, most = f(s.input(0, np.array([5, -5], dtype=np.int16)), 3)
    same(more, np.array([True, False]))
    same(most, np.array([6, 4], dtype=np.int16))
    one, _ = f(1, 2)
    same(one, np.False_)
    both = s.function(lambda a, b: a & b, cenote.uint(5), cenote.uint(5))
    both.to_bristol(tmp_path / "and.txt")
    read = s.circuit(tmp_path / "and.txt")
    assert int(read(s.input(0, 12, cenote.uint(5)), 10).open()) == 8
    parts = s.circuit(
        tmp_path / "and.txt", inputs=[cenote.uint(2), cenote.uint(3), cenote.uint(5)], outputs=[cenote.int_(5)]
    )
    assert int(parts(3, 7, 31).open()) == -1
    with pytest.raises(cenote.UsageError, match="do not fill"):
        s.circuit(tmp_path / "and.txt", inputs=[np.uint8])
    with pytest.raises(TypeError, match=r"argument 0 is int16, not int64: write \.astype\(np\.int16\)"):
        f(s.input(0, 1), 2)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        f(1)
    outside = s.input(0, 1)
    with pytest.raises(cenote.UsageError, match="as arguments"):
        s.function(lambda a: a + outside, np.int64)
    with pytest.raises(TypeError, match="returns a secret"):
        s.function(lambda a: 5, np.int64)
    with pytest.raises(cenote.UsageError, match="single one"):
        s.function(lambda a: a * [1, 2], np.int64)
    with pytest.raises(cenote.UsageError, match="cannot use rows"):
        s.function(lambda a: cenote.concatenate([a, a])[0], np.int64)
    same(s.function(lambda a: a * 2, np.int64)([1, 2]), np.array([2, 4]))
    with pytest.raises(cenote.UsageError, match="reveals nothing"):
        s.function(lambda a: a.open(), np.int64)
    kept: list[cenote.Secret] = []
    s.function(lambda a: kept.append(a) or a, np.int64)  # type: ignore[func-returns-value]
    with pytest.raises(cenote.UsageError, match="recording has ended"):
        kept[0] + 1


def test_programs_as_functions() -> None:
    def program(s: cenote.Session, a: cenote.Secret, b: cenote.Secret, *, limit: cenote.Secret) -> Any:
        assert s.parties == 3
        return {"sum": (a + b).sum(), "above": [(a > limit).count_nonzero(), "text"]}

    inputs = {1: {"limit": 2}, 0: ([1, 3], [10, 20])}
    assert cenote.clear(program, inputs) == {"sum": 34, "above": [1, "text"]}
    assert cenote.run(program, inputs) == {"sum": 34, "above": [1, "text"]}
    typed = {0: (cenote.array([1.5, 2.0], cenote.fixed(32, 16)), 7), 1: {"limit": cenote.array(1.75, "uint8")}}
    with pytest.raises(TypeError, match="the input of party 1 is of float64, and uint8 takes whole numbers"):
        cenote.clear(lambda s, a, b, *, limit: a, typed)
    typed[1] = {"limit": cenote.array(1.75, cenote.fixed(32, 16))}
    for how in (cenote.clear, cenote.run):
        assert how(lambda s, a, b, *, limit: (a > limit, b), typed)[0].tolist() == [False, True]
    assert cenote.clear(lambda s: 5) == 5
    with pytest.raises(TypeError, match="numbers of parties"):
        cenote.clear(program, {"a": [1]})  # type: ignore[dict-item]
    with pytest.raises(cenote.UsageError, match="two parties give x"):
        cenote.clear(lambda s, x: x, {0: {"x": 1}, 1: {"x": 2}})


@pytest.mark.parametrize("parties", [2, 3])
def test_the_five_lines(parties: int) -> None:
    with cenote.session(parties=parties) as s:
        a = s.input(0, np.array([3, 1, 2], dtype=np.uint32))
        b = s.input(1, np.array([9, 4, 7], dtype=np.uint32))
        assert int((a * b).sum().open()) == 45
    assert s.report is not None
    assert len(s.report["parties"]) == parties


def test_importing_does_not_import_numpy() -> None:
    code = "import cenote, sys; from cenote import *; uint(3); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_numpy_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['numpy'] = None; import cenote; cenote.session()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'cenote[numpy]'" in done.stderr


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    total: Any
    name: str


@dataclasses.dataclass
class Box:
    inside: Any


class Holder:
    def __init__(self, inside: Any) -> None:
        self.inside = inside


def test_results_are_opened_or_refused() -> None:
    answer = cenote.clear(lambda s, a: [Answer(a.sum(), "x"), Box({"y": (a[0],)})], {0: [1, 2]})
    assert answer == [Answer(3, "x"), Box({"y": (1,)})]
    numbered: Any = {np.int64(1): 5}
    assert cenote.clear(lambda s, a: a + 1, numbered) == 6
    assert cenote.clear(lambda s: (Holder(5), {1, 2}, np.array([1, None], dtype=object)))[1] == {1, 2}
    dead: list[Callable[[Any, Any], Any]] = [
        lambda s, a: s.memory(a),
        lambda s, a: [{"x": s.memory(a)}],
        lambda s, a: Holder(a),
        lambda s, a: (1, Holder([a])),
        lambda s, a: {s.memory(a)},
        lambda s, a: collections.deque([a]),
        lambda s, a: types.MappingProxyType({"x": a}),
        lambda s, a: (a + i for i in range(2)),
        lambda s, a: Box(Holder({"x": a})),
    ]
    for program in dead:
        with pytest.raises(TypeError, match="secrets that are not opened"):
            cenote.clear(program, {0: [1, 2]})


def test_parties_are_named_by_numbers_of_any_kind(s: cenote.Session) -> None:
    x = s.input(np.uint8(1), 5)  # type: ignore[arg-type]
    for to in ([np.int64(0)], np.array([0, 2]), (party for party in (2, 0)), {1}, range(2)):
        assert x.reveal(to=to) == 5  # type: ignore[arg-type]
    for wrong in (True, np.bool_(True), 0.0, "0", None):
        with pytest.raises(TypeError, match="a party is a number"):
            s.input(wrong, 5)  # type: ignore[arg-type]
