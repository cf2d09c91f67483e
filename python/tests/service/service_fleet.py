"""A small fleet of services on this machine, and servers that are none."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMES = ("anna", "bert", "cleo")

STOCK = """
[[service.stock]]
protocol = "three"
variant = "on-demand"
ands = "4M"
least = "32K"
"""


def program(name: str) -> Path:
    """Find a program to test against; without it, the test is skipped."""
    folder = os.environ.get("CENOTE_PROGRAMS")
    if not folder:
        pytest.skip("CENOTE_PROGRAMS does not name the folder of the programs cenote and cenote-serve")
    path = Path(folder).absolute() / name
    if not path.is_file():
        pytest.skip(f"there is no program {path}")
    return path


@dataclass
class Fleet:
    """Three parties. The service of the last one speaks TLS."""

    folder: Path
    process: subprocess.Popen[str]

    def party(self, number: int) -> Path:
        return self.folder / NAMES[number] / "party.toml"

    def url(self, number: int) -> str:
        found = re.search(r'^http = "(.*)"$', self.party(number).read_text(), re.MULTILINE)
        assert found is not None
        return ("https://" if number == 2 else "http://") + found[1].replace("0.0.0.0", "127.0.0.1")

    def token(self, number: int) -> str:
        return (self.folder / NAMES[number] / "service" / "operator.token").read_text().strip()

    def identity(self, number: int) -> Path:
        return self.folder / NAMES[number] / "party.key"

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def _start(folder: Path) -> Fleet:
    program("cenote-serve")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CENOTE_")}
    with (folder.parent / "fleet.log").open("a") as log:
        process = subprocess.Popen(
            [program("cenote"), "serve", "--local", "3", "--folder", folder],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
    fleet = Fleet(folder, process)
    end = time.monotonic() + 30
    while not _is_ready(fleet):
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            process.wait()
            pytest.fail("the fleet does not start: " + (folder.parent / "fleet.log").read_text())
        time.sleep(0.05)
    return fleet


def _is_ready(fleet: Fleet) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        for number in (0, 1):
            with opener.open(fleet.url(number) + "/readyz", timeout=5) as answer:
                answer.read()
    except (OSError, urllib.error.URLError):
        return False
    return True


def started(folder: Path) -> Fleet:
    """Start a fleet in a new folder. All keep triples in stock; the last listens to other machines, which takes TLS."""
    _start(folder).stop()
    for name in NAMES:
        with (folder / name / "party.toml").open("a") as file_of_party:
            file_of_party.write(STOCK)
    file = folder / NAMES[2] / "party.toml"
    file.write_text(file.read_text().replace('http = "127.0.0.1:', 'http = "0.0.0.0:'))
    return _start(folder)


class Server:
    """A server that is no service. Each connection is handed to the next of some functions, later ones to the last."""

    def __init__(self, *turns: Callable[[socket.socket], None], identities: tuple[Path, ...] = ()) -> None:
        self._turns = turns
        self._contexts = [_context(identity) for identity in identities]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self.heard = [b""] * 64
        self.end = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        return f"http{'s' if self._contexts else ''}://127.0.0.1:{self.port}"

    def __enter__(self) -> Server:
        self._begin(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.end.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _begin(self, what: Callable[[], None]) -> None:
        thread = threading.Thread(target=what, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self.end.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            number, self.connections = self.connections, self.connections + 1
            self._begin(lambda connection=connection, number=number: self._serve(connection, number))  # type: ignore[misc]

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection:
            connection.settimeout(10)
            try:
                if self._contexts:
                    context = self._contexts[min(number, len(self._contexts) - 1)]
                    connection = context.wrap_socket(connection, server_side=True)
                with connection:
                    # The whole head of the call, out of TLS; or the beginning of TLS where none is spoken.
                    while b"\r\n\r\n" not in self.heard[number] and not self.heard[number].startswith(b"\x16"):
                        part = connection.recv(65536)
                        if not part:
                            return
                        self.heard[number] += part
                    self._turns[min(number, len(self._turns) - 1)](connection)
            except OSError:
                pass


def _context(identity: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(identity)
    return context


def answers(
    body: bytes, status: str = "200 OK", kind: str = "application/json", more: str = ""
) -> Callable[[socket.socket], None]:
    """Give what answers one call, and ends the connection."""
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
    )
    return lambda connection: connection.sendall(head.encode() + body)


def streams(*parts: bytes, pause: float = 0.0, kind: str = "text/event-stream") -> Callable[[socket.socket], None]:
    """Give what answers with a stream of these parts, and then ends the connection."""

    def send(connection: socket.socket) -> None:
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode())
        for part in parts:
            time.sleep(pause)
            connection.sendall(part)

    return send
