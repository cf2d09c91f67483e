"""Parties of several organisations, each with a party file."""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cenote

PEOPLE = {"id": "u32 not null", "region": "char(8)"}
LOANS = {"id": "u32 not null", "owed": "i64"}
SQL = "SELECT region, SUM(owed) AS owed FROM people JOIN loans USING (id) GROUP BY region"


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [open_socket.getsockname()[1] for open_socket in sockets]
    for open_socket in sockets:
        open_socket.close()
    return ports


def command(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "cenote", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def parties(folder: Path, count: int, more: str = "") -> list[cenote.Party]:
    """Make parties, each with a key and a file of its own."""
    ports = free_ports(count)
    prints = []
    for party in range(count):
        (folder / str(party)).mkdir()
        command("identity", "new", folder=folder / str(party))
        prints.append(command("identity", "show", folder=folder / str(party)).strip())
    made = []
    for party in range(count):
        lines = [f"party = {party}", 'identity = "identity.pem"', f'listen = "127.0.0.1:{ports[party]}"', more]
        for peer in range(count):
            if peer != party:
                lines += ["[[peer]]", f"party = {peer}", f'address = "127.0.0.1:{ports[peer]}"']
                lines += [f'fingerprint = "{prints[peer]}"']
        file = folder / str(party) / "party.toml"
        file.write_text("\n".join(lines) + "\n")
        made.append(cenote.Party(file))
    return made


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Make all calls side by side, and give what each returned or raised."""
    results: list[Any] = [None] * len(calls)

    def call(place: int) -> None:
        try:
            results[place] = calls[place]()
        except cenote.CenoteError as error:
            results[place] = error

    threads = [threading.Thread(target=call, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def people(*, given: bool, unique: str = "id") -> cenote.Table:
    if given:
        data = pa.table({"id": [1, 2, 3], "region": ["north", "south", "north"]})
        return cenote.table(data, party=0, columns=PEOPLE, max_rows=10, unique=unique)
    return cenote.declared(party=0, columns=PEOPLE, max_rows=10, unique=unique)


def loans(*, given: bool, max_rows: int = 20) -> cenote.Table:
    if given:
        data = pa.table({"id": [1, 3, 3], "owed": [100, 50, 25]})
        return cenote.table(data, party=1, columns=LOANS, max_rows=max_rows)
    return cenote.declared(party=1, columns=LOANS, max_rows=max_rows)


def test_two_parties_ask_together(tmp_path: Path) -> None:
    first, second = parties(tmp_path, 2)
    assert (first.number, second.number) == (0, 1)
    answers = together(
        lambda: first.query(SQL, people=people(given=True), loans=loans(given=False), to=[1]),
        lambda: second.query(SQL, people=people(given=False), loans=loans(given=True), to=[1]),
    )
    assert answers[0] is None
    assert list(answers[1]) == [("north", 175)]


def test_three_parties_ask_together(tmp_path: Path) -> None:
    every = parties(tmp_path, 3)

    def ask(party: cenote.Party) -> list[Any]:
        answer = party.query(
            SQL,
            protocol="three",
            people=people(given=party.number == 0),
            loans=loans(given=party.number == 1),
        )
        assert answer is not None
        return list(answer)

    assert together(*(lambda party=party: ask(party) for party in every)) == [[("north", 175)]] * 3


def test_declarations_that_differ_are_told_at_both(tmp_path: Path) -> None:
    first, second = parties(tmp_path, 2)
    answers = together(
        lambda: first.query(SQL, people=people(given=True), loans=loans(given=False, max_rows=30)),
        lambda: second.query(SQL, people=people(given=False), loans=loans(given=True)),
    )
    for error in answers:
        assert isinstance(error, cenote.UsageError)
        assert "disagrees on table 2" in str(error)


def test_a_party_that_does_not_come_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, _ = parties(tmp_path, 2, "connect_timeout = 4")
    with (
        caplog.at_level(logging.WARNING, "cenote"),
        pytest.raises(cenote.NetworkError, match="party 1"),
    ):
        first.query(SQL, people=people(given=True), loans=loans(given=False))
    assert any("party 1" in record.message for record in caplog.records)


def test_data_of_others_stays_there(tmp_path: Path) -> None:
    first, _ = parties(tmp_path, 2)
    with pytest.raises(cenote.UsageError, match="its data stays there"):
        first.query(SQL, people=people(given=True), loans=loans(given=True))
    with pytest.raises(cenote.UsageError, match="only declared"):
        first.query(SQL, people=people(given=False), loans=loans(given=False))


def test_what_is_inferred_is_not_told_to_others(tmp_path: Path) -> None:
    first, _ = parties(tmp_path, 2)
    inferred = cenote.table(pa.table({"id": [1], "region": ["north"]}), party=0, unique="id")
    with pytest.raises(cenote.UsageError, match=r"state columns and max_rows of table people: .*'char\(8\) not null'"):
        first.query(SQL, people=inferred, loans=loans(given=False))


def test_options_that_differ_are_named(tmp_path: Path) -> None:
    first, second = parties(tmp_path, 2)
    answers = together(
        lambda: first.query(SQL, people=people(given=True), loans=loans(given=False), min_group=3),
        lambda: second.query(SQL, people=people(given=False), loans=loans(given=True)),
    )
    for error in answers:
        assert isinstance(error, cenote.UsageError)
        assert "groups of 3 or more" in str(error)


def test_job_files_are_run(tmp_path: Path) -> None:
    every = parties(tmp_path, 2)
    jobs = []
    for party in every:
        folder = tmp_path / str(party.number)
        (folder / "people.csv").write_text("id,region\n1,north\n")
        (folder / "loans.csv").write_text("id,owed\n1,7\n")
        (folder / "job.toml").write_text(
            f'query = "{SQL}"\n'
            '[[table]]\nname = "people"\nparty = 0\nunique = ["id"]\nmax_rows = 5\nfile = "people.csv"\n'
            'columns = { id = "u32 not null", region = "char(8)" }\n'
            '[[table]]\nname = "loans"\nparty = 1\nmax_rows = 5\nfile = "loans.csv"\n'
            'columns = { id = "u32 not null", owed = "i64" }\n'
        )
        jobs.append(folder / "job.toml")
    answers = together(*(lambda party=party: party.run(jobs[party.number]) for party in every))
    assert [list(answer) for answer in answers] == [[("north", 7)]] * 2
    for party in every:
        folder = tmp_path / str(party.number)
        for owner in (0, 1):
            (folder / f"{owner}.txt").write_text(f"{owner + 5}\n")
        (folder / "job.toml").write_text(
            'protocol = "authenticated"\ncircuit = "lib:add16"\nlanes = 1\n'
            '[[input]]\nparty = 0\nfile = "0.txt"\n[[input]]\nparty = 1\nfile = "1.txt"\n'
            "[[output]]\nto = [0, 1]\n"
        )
    reports = together(*(lambda party=party: party.run(jobs[party.number]) for party in every))
    for report in reports:
        assert int(report["outputs"][0]["values"][0], 16) == 11


def test_a_program_of_two_parties(tmp_path: Path) -> None:
    def run(party: cenote.Party) -> list[Any]:
        def given(owner: int, values: list[int]) -> list[int] | None:
            return values if owner == party.number else None

        with party.session("products, 1", and_gates=10_000) as s:
            assert (s.me, s.parties) == (party.number, 2)
            a = s.input(0, given(0, [3, 1, 2]), np.uint32, 3)
            b = s.input(1, given(1, [9, 4, 7]), np.uint32, 3)
            some = (a * b).reveal(to=[1])
            few = s.open_chosen(a > 1, b, to=[1])
            assert s.open_chosen(a > 1, a, b)[1].tolist() == [9, 7]
            assert s.open_chosen(a > 9, a).tolist() == []
            return [int((a * b).sum().open()), *(None if row is None else row.tolist() for row in (some, few))]

    first, second = parties(tmp_path, 2)
    answers = together(lambda: run(first), lambda: run(second))
    assert answers == [[45, None, None], [45, [27, 4, 14], [9, 7]]]


def test_programs_say_what_is_given_where(tmp_path: Path) -> None:
    def run(party: cenote.Party) -> None:
        with party.session("wrong calls") as s:
            own, other = party.number, 1 - party.number
            wrong: list[tuple[Callable[[], Any], str]] = [
                (lambda: s.input(other, [1, 2], np.uint8), f"the values of party {other} stay there"),
                (lambda: s.input(other, length=2), "state the dtype"),
                (lambda: s.input(own, [1, 2]), "would be told to the others"),
                (lambda: s.input(own, dtype=np.uint8), "give its values"),
            ]
            for call, match in wrong:
                with pytest.raises(cenote.UsageError, match=match):
                    call()

    first, second = parties(tmp_path, 2)
    assert together(lambda: run(first), lambda: run(second)) == [None, None]


def caught(s: cenote.Session, a: cenote.Secret) -> cenote.Secret:
    """Do something that fails after it has recorded a step, and go on."""
    with contextlib.suppress(TypeError):
        s.shuffle(a * 3, "no column")  # type: ignore[arg-type]
    return a


Program = Callable[[cenote.Session, Callable[..., cenote.Secret]], Any]
DIFFERENT: dict[str, tuple[Program, Program]] = {
    "type of the same width": (lambda s, x: x(0, [1, 2], np.uint8), lambda s, x: x(0, [1, 2], np.int8)),
    "fraction": (lambda s, x: x(0, [1, 2], cenote.fixed(8, 3)), lambda s, x: x(0, [1, 2], cenote.fixed(8, 4))),
    "width": (lambda s, x: x(0, [1, 2], np.uint8), lambda s, x: x(0, [1, 2], np.uint16)),
    "length": (lambda s, x: x(0, [1, 2], np.uint8), lambda s, x: x(0, [1, 2, 3], np.uint8)),
    "single or a row": (lambda s, x: x(0, 1, np.uint8), lambda s, x: x(0, [1], np.uint8)),
    "owner": (lambda s, x: x(0, [1], np.uint8), lambda s, x: x(1, [1], np.uint8)),
    "one more input": (
        lambda s, x: x(0, [1], np.uint8),
        lambda s, x: (x(0, [1], np.uint8), x(1, [1], np.uint8))[0],
    ),
    "operation": (lambda s, x: x(0, [1], np.uint8) + 1, lambda s, x: x(0, [1], np.uint8) - 1),
    "public value": (lambda s, x: x(0, [1], np.uint8) + 1, lambda s, x: x(0, [1], np.uint8) + 2),
    "public mask": (
        lambda s, x: x(0, [1, 2], np.uint8).sum(where=[True, False]),
        lambda s, x: x(0, [1, 2], np.uint8).sum(where=[False, True]),
    ),
    "type of what is opened": (lambda s, x: x(0, [1], np.uint8), lambda s, x: x(0, [1], np.uint8).astype(np.int8)),
    "line that failed": (lambda s, x: x(0, [1], np.uint8), lambda s, x: caught(s, x(0, [1], np.uint8))),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_programs_that_differ_stop(tmp_path: Path, what: str) -> None:
    def run(party: cenote.Party) -> Any:
        with party.session("differs", and_gates=1000) as s:

            def given(owner: int, values: Any, dtype: object) -> cenote.Secret:
                if owner == party.number:
                    return s.input(owner, values, dtype)
                return s.input(owner, dtype=dtype, length=len(values) if isinstance(values, list) else None)

            return DIFFERENT[what][party.number](s, given).open()

    first, second = parties(tmp_path, 2)
    for error in together(lambda: run(first), lambda: run(second)):
        assert isinstance(error, cenote.UsageError)
        assert "disagrees on program" in str(error)


def test_a_wrong_party_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(cenote.UsageError, match=r"party\.toml"):
        cenote.Party(tmp_path / "party.toml")
    (tmp_path / "party.toml").write_text("party = 9\n")
    with pytest.raises(cenote.UsageError, match="line 1"):
        cenote.Party(tmp_path / "party.toml")
