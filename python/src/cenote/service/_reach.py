"""Which service is called, by which key it is known, and with which token it is called."""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cenote._cenote import BadInput, UsageError
from cenote.service._pin import fingerprint_of, parse_fingerprint

_PARTY_FILE = "party.toml"
_OPERATOR_TOKEN = "operator.token"
_PORT = 7180
# Bytes that are read, at most: of a party file, of an identity, of a token.
_SETTINGS, _IDENTITY, _TOKEN = 1 << 20, 64 << 10, 4096
_ADDRESS = re.compile(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]\\%]+)(?::([0-9]{1,5}))?/*")

StrPath = str | os.PathLike[str]


@dataclass(frozen=True)
class Reach:
    """A service that can be called. It does not show its token."""

    url: str
    pin: str | None
    token: str = field(repr=False)


def toml(text: str, what: str) -> dict[str, Any]:
    """Read a text of TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError:
            raise UsageError(f"{what} is read with the package tomli, which Python 3.10 needs: install it") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{what}: {error}") from None


def reach(
    url: str | None,
    *,
    config: StrPath | None = None,
    token: str | None = None,
    token_file: StrPath | None = None,
    fingerprint: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Reach:
    """Find out which service is meant. What the caller says goes before what the environment says."""
    if environment is None:
        environment = os.environ
    if url is not None and config is not None:
        raise UsageError("give either the address of a service or its party file, not both")
    if fingerprint is not None and config is not None:
        raise UsageError("a fingerprint goes with an address; of a party file the key is known")
    if token is not None and token_file is not None:
        raise UsageError("give either a token or the file of one, not both")
    if url is None and config is None:
        url, config = environment.get("CENOTE_SERVICE"), environment.get("CENOTE_CONFIG")
        if url is not None and config is not None:
            raise UsageError("both CENOTE_SERVICE and CENOTE_CONFIG are set; say which service is meant")
    folder = None
    if config is not None:
        place, pin, folder = _of_party(Path(config))
    elif url is not None:
        given = fingerprint if fingerprint is not None else environment.get("CENOTE_FINGERPRINT")
        place, pin = url, None if given is None else parse_fingerprint(given)
    else:
        raise UsageError("which service? Give its address, or its party file with config=…")
    return Reach(_checked(place, pin), pin, _token(token, token_file, folder, environment))


def is_near(host: str) -> bool:
    """Tell whether a host is this machine alone.

    Examples
    --------
    >>> is_near("127.0.0.1"), is_near("::1"), is_near("localhost"), is_near("party.example")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # Version 6 has one address of this kind, and writes others of version 4 in its own.
    return address.is_loopback if address.version == 4 else address == ipaddress.IPv6Address(1)


def _checked(url: str, pin: str | None) -> str:
    """Give the address as calls begin with it. An address by which a token would leave in the clear is refused."""
    if not url.startswith(("https://", "http://")):
        raise UsageError("that is no address of a service: it begins with https:// or http://")
    parts = _ADDRESS.fullmatch(url)
    if parts is None or (parts[3] is not None and int(parts[3]) > 65535):
        raise UsageError("that is no address of a service: give https://HOST:PORT, and nothing before or after")
    scheme, host, port = parts.groups()
    if scheme == "https" and pin is None:
        raise UsageError(
            "an address that begins with https needs the fingerprint of the service's key: "
            "what `cenote identity show` prints at the service"
        )
    if scheme == "http" and not is_near(host.strip("[]")):
        raise UsageError("the token would be sent in the clear; use https:// for a service on another machine")
    return f"{scheme}://{host}" + ("" if port is None else f":{port}")


def _of_party(path: Path) -> tuple[str, str | None, Path]:
    """Give address, key and folder of the service that a party file, or the folder with one, is of."""
    if path.is_dir():
        path /= _PARTY_FILE
    file = toml(_text(path, _SETTINGS, f"the party file {path}"), f"the party file {path}")
    service = file.get("service")
    if not isinstance(service, dict):
        raise UsageError(f"{path} has no [service]; it is of a party that runs none")
    party = file.get("party")
    if not isinstance(party, int) or not 0 <= party <= 2:
        raise UsageError(f"{path}: party is a number from 0 to 2")

    def stated(table: dict[str, Any], key: str, otherwise: str | None) -> str:
        value = table.get(key, otherwise)
        if not isinstance(value, str) or not value:
            raise UsageError(f"{path}: {key} is missing, or no text")
        return value

    address = stated(service, "http", f"127.0.0.1:{_PORT + party}")
    host, _, port = address.rpartition(":")
    near = is_near(host.strip("[]"))
    if host == "0.0.0.0":
        host = "127.0.0.1"
    elif host.strip("[]") == "::":
        host = "[::1]"
    elif ":" in host and not host.startswith("["):
        host = f"[{host}]"
    pin = None if near else _fingerprint_in(path.parent / stated(file, "identity", None))
    return f"{'http' if near else 'https'}://{host}:{port}", pin, path.parent / stated(service, "folder", "service")


def _fingerprint_in(path: Path) -> str:
    """Give the fingerprint of the key in a party's identity file. Only the certificate in it is looked at."""
    text = _text(path, _IDENTITY, f"the identity {path}")
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    _, found, after = text.partition(begin)
    inner, ended, _ = after.partition(end)
    try:
        if not found or not ended:
            raise ValueError
        return fingerprint_of(ssl.PEM_cert_to_DER_cert(begin + inner + end))
    except ValueError:
        raise UsageError(f"the identity {path} has no certificate in it; make one with `cenote identity new`") from None


def _token(token: str | None, token_file: StrPath | None, folder: Path | None, environment: Mapping[str, str]) -> str:
    if token is None and token_file is None:
        token_file = environment.get("CENOTE_TOKEN_FILE")
        if token_file is None:
            token = environment.get("CENOTE_TOKEN")
    if token_file is not None:
        token = _text(Path(token_file), _TOKEN, f"the token in {os.fspath(token_file)}").strip()
    if token is None and folder is not None:
        try:
            token = _text(folder / _OPERATOR_TOKEN, _TOKEN, "the operator's token").strip()
        except (UsageError, BadInput):
            token = None
    if not token:
        raise UsageError(
            "there is no token to call the service with; give token=… or token_file=…, or set CENOTE_TOKEN"
        )
    if not all("!" <= sign <= "~" for sign in token) or len(token) > _TOKEN:
        raise UsageError("that is no token: it has signs in it that no token has")
    return token


def _text(path: Path, most: int, what: str) -> str:
    """Read a short file."""
    try:
        with path.open("rb") as file:
            read = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"{what} cannot be read: {error.strerror or type(error).__name__}") from None
    if len(read) > most:
        raise UsageError(f"{what} cannot be read: it has more than {most} bytes")
    try:
        return read.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{what} cannot be read: it is no text") from None
