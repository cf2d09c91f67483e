"""TLS with the one key that is pinned, whatever names and dates its certificate has.

The key is looked at on each new connection, at the end of its handshake: nothing is sent before, and no connection is
trusted because of an earlier one. That the peer has the key is proved by its signature, which every handshake of
TLS 1.3 checks.
"""

from __future__ import annotations

import hashlib
import re
import ssl

from cenote._cenote import UsageError

_SEQUENCE, _INTEGER, _BITS, _VERSION = 0x30, 0x02, 0x03, 0xA0
# What may follow the key in a certificate: identifiers of issuer and subject, and extensions.
_AFTER_KEY = frozenset({0x81, 0xA1, 0x82, 0xA2, 0xA3})


class WrongKey(ssl.SSLError):
    """The service shows another key than the one that is pinned."""


def parse_fingerprint(text: str) -> str:
    """Read a fingerprint: 64 hexadecimal digits of either case, with colons between bytes or without.

    Examples
    --------
    >>> parse_fingerprint("AB:" * 31 + "ab") == "ab" * 32
    True
    """
    digits = text.strip().replace(":", "").lower() if isinstance(text, str) else ""
    if re.fullmatch("[0-9a-f]{64}", digits) is None:
        raise UsageError("a fingerprint is 64 hexadecimal digits: what `cenote identity show` prints at the service")
    return digits


def fingerprint_of(certificate: bytes) -> str:
    """Give the fingerprint of the key in a certificate: the SHA-256 of its DER-encoded SubjectPublicKeyInfo.

    Raises
    ------
    ValueError
        It is no certificate in DER.
    """
    whole, end = _content(certificate, 0, len(certificate), _SEQUENCE)
    if end != len(certificate):
        raise ValueError("bytes follow the certificate")
    at, tbs_end = _content(certificate, whole, end, _SEQUENCE)
    _, algorithm_end = _content(certificate, tbs_end, end, _SEQUENCE)
    if _content(certificate, algorithm_end, end, _BITS)[1] != end:
        raise ValueError("something follows the signature")
    if certificate[at] == _VERSION:
        _, at = _content(certificate, at, tbs_end, _VERSION)
    # Serial number, signature algorithm, issuer, dates, subject.
    for tag in (_INTEGER, _SEQUENCE, _SEQUENCE, _SEQUENCE, _SEQUENCE):
        _, at = _content(certificate, at, tbs_end, tag)
    _, key_end = _content(certificate, at, tbs_end, _SEQUENCE)
    rest = key_end
    while rest < tbs_end:
        if certificate[rest] not in _AFTER_KEY:
            raise ValueError("something else follows the key")
        _, rest = _content(certificate, rest, tbs_end, certificate[rest])
    return hashlib.sha256(certificate[at:key_end]).hexdigest()


def _content(data: bytes, at: int, end: int, tag: int) -> tuple[int, int]:
    """Give where the content of the element at this place begins and ends. Only lengths of DER are taken."""
    if at + 2 > end or data[at] != tag:
        raise ValueError("an element is missing or of another kind")
    length, begin = data[at + 1], at + 2
    if length >= 0x80:
        count = length & 0x7F
        if not 1 <= count <= 3 or begin + count > end:
            raise ValueError("a length is none of DER")
        length = int.from_bytes(data[begin : begin + count], "big")
        if length < 0x80 or length < 1 << 8 * (count - 1):
            raise ValueError("a length is longer than it must be")
        begin += count
    if begin + length > end:
        raise ValueError("an element is longer than what holds it")
    return begin, begin + length


class _Socket(ssl.SSLSocket):
    def do_handshake(self, block: bool = False) -> None:
        super().do_handshake(block)
        _check(self)


class _Object(ssl.SSLObject):
    def do_handshake(self) -> None:
        super().do_handshake()
        _check(self)


def _check(connection: ssl.SSLSocket | ssl.SSLObject) -> None:
    """Refuse a connection whose handshake is done unless it shows the key that its context pins."""
    context = connection.context
    certificate = connection.getpeercert(binary_form=True)
    try:
        shown = fingerprint_of(certificate or b"")
    except ValueError:
        shown = None
    if not isinstance(context, PinnedContext) or shown != context.pin or connection.version() != "TLSv1.3":
        raise WrongKey("it does not show the key that is pinned")


class PinnedContext(ssl.SSLContext):
    """What makes connections over TLS 1.3 to the party with one key, and to nobody else. With no key, it makes none."""

    sslsocket_class = _Socket
    sslobject_class = _Object
    pin: str | None

    def __new__(cls, pin: str | None) -> PinnedContext:
        """Make one for the key with this fingerprint."""
        context = super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # Names, dates and authorities play no part: the key does, and is checked after each handshake.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.pin = pin
        return context
