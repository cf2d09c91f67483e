"""Random programs over all operators of secrets: what they give is what numpy and whole numbers of Python give.

``CENOTE_RANDOM_PROGRAMS`` says how many in the clear and on three parties, and a tenth of it runs on each two-party
protocol; ``CENOTE_SEED`` says which is the first.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import cenote
from cenote import _cenote
from cenote._types import dtype_of

STATED = os.environ.get("CENOTE_RANDOM_PROGRAMS")
FIRST = int(os.environ.get("CENOTE_SEED", "1"))
PROTOCOLS = [
    ("clear", 3, int(STATED) if STATED else 40),
    ("three", 3, int(STATED) if STATED else 10),
    *((name, 2, -(-int(STATED) // 10) if STATED else 4) for name in ("authenticated", "jimu", "lego")),
]

Kind = tuple[str, int, int]
BOOL: Kind = ("bool", 1, 0)
NUMPY = (8, 16, 32, 64)


def is_signed(kind: Kind) -> bool:
    return kind[0] in ("int", "fixed")


def wrap(value: int, kind: Kind) -> int:
    width = kind[1]
    value &= (1 << width) - 1
    return value - (1 << width) if is_signed(kind) and value >> (width - 1) else value


def half_up(numerator: int, denominator: int) -> int:
    """Round a quotient to the nearest, and up from the middle."""
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    return (2 * numerator + denominator) // (2 * denominator)


def is_numpy(kind: Kind) -> bool:
    return kind == BOOL or (kind[0] != "fixed" and kind[1] in NUMPY)


def numpy_dtype(kind: Kind) -> np.dtype[Any]:
    return np.dtype("bool" if kind == BOOL else f"{kind[0]}{kind[1]}")


def meet(a: Kind, b: Kind) -> Kind | None:
    """Give the type of both, by numpy where it has it and stays whole."""
    if a == b:
        return a
    if "fixed" in (a[0], b[0]):
        return None
    if BOOL in (a, b):
        return b if a == BOOL else a
    if is_numpy(a) and is_numpy(b):
        of = np.promote_types(numpy_dtype(a), numpy_dtype(b))
        if of.kind == "f":
            return ("int", 128, 0)
        return ("uint" if of.kind == "u" else "int", of.itemsize * 8, 0)
    if a[0] == b[0]:
        return (a[0], max(a[1], b[1]), 0)
    with_sign, without = (a, b) if a[0] == "int" else (b, a)
    width = max(with_sign[1], without[1] + 1)
    return ("int", width, 0) if width <= 128 else None


class Known:
    """A row of whole numbers that stand for values, or a single one; what a secret should have."""

    def __init__(self, kind: Kind, values: list[int], *, single: bool) -> None:
        self.kind = kind
        self.values = [wrap(int(value), kind) for value in values]
        self.single = single

    def opened(self) -> list[Any]:
        if self.kind[0] == "fixed":
            return [float(value) / 2.0 ** self.kind[2] for value in self.values]
        return [bool(value) for value in self.values] if self.kind == BOOL else list(self.values)

    def row(self, length: int) -> list[int]:
        return self.values * length if len(self.values) == 1 else self.values


Pair = tuple[cenote.Secret, Known]


def ours(kind: Kind) -> Any:
    match kind:
        case ("bool", _, _):
            return bool
        case ("uint", width, _):
            return cenote.uint(width)
        case ("int", width, _):
            return cenote.int_(width)
        case (_, width, fraction):
            return cenote.fixed(width, fraction)


def each(kind: Kind, f: Callable[..., int], *operands: Known) -> Known | None:
    """Apply it in each place, or give None if the lengths do not meet."""
    lengths = {len(operand.values) for operand in operands} - {1}
    if len(lengths) > 1:
        return None
    length = max([1, *lengths])
    rows = zip(*(operand.row(length) for operand in operands), strict=True)
    return Known(kind, [f(*values) for values in rows], single=all(operand.single for operand in operands))


class Maker:
    """Makes a program from a seed, and does it with secrets and with numbers side by side."""

    def __init__(self, s: cenote.Session, seed: int) -> None:
        self.s = s
        self.draw = random.Random(seed)
        self.length = self.draw.choice([1, 2, 3, 5])
        self.fixed = self.draw.choice([("fixed", 16, 8), ("fixed", 32, 16), ("fixed", 24, 3), ("fixed", 64, 20)])
        self.log: list[str] = []
        self.pairs = [self.input() for _ in range(4)]

    def kind(self) -> Kind:
        draw = self.draw
        match draw.randrange(8):
            case 0:
                return BOOL
            case 1 | 2:
                return self.fixed
            case 3:
                return (draw.choice(["uint", "int"]), draw.choice([1, 2, 3, 5, 20, 33, 65, 128]), 0)
            case _:
                return (draw.choice(["uint", "int"]), draw.choice(NUMPY), 0)

    def value(self, kind: Kind) -> int:
        width = kind[1]
        few = self.draw.choice([1, 3, width // 2, width])
        return wrap(self.draw.choice([1, -1]) * self.draw.getrandbits(max(1, few)), kind)

    def numbers(self, kind: Kind, count: int) -> Any:
        return Known(kind, [self.value(kind) for _ in range(count)], single=False)

    def input(self) -> Pair:
        kind = self.kind()
        single = self.draw.random() < 0.25
        known = self.numbers(kind, 1 if single else self.length)
        known.single = single
        # Fixed-point numbers go in exactly, and not by float64, which may round.
        exact = [Fraction(value, 1 << kind[2]) for value in known.values]
        given: Any = np.array(exact, dtype=object) if kind[0] == "fixed" else known.opened()
        if single:
            given = np.array(given[0]) if kind[0] == "fixed" else given[0]
        self.log.append(f"input {kind}")
        if self.draw.random() < 0.2:
            return self.s.public(given, ours(kind)), known
        return self.s.input(self.draw.randrange(self.s.parties), given, ours(kind)), known

    def any(self, condition: Callable[[Known], bool] = lambda known: True) -> Pair | None:
        fitting = [pair for pair in self.pairs if condition(pair[1])]
        return self.draw.choice(fitting) if fitting else None

    def step(self) -> None:
        name = self.draw.choice(
            ["binary", "binary", "binary", "weak", "compared", "shift", "unary", "where", "fold", "row", "astype"]
        )
        made = getattr(self, f"do_{name}")()
        if made is None:
            return
        how, secret, known = made
        if known is None:
            return
        self.log.append(f"{how} -> {known.kind}")
        assert secret.dtype is dtype_of(ours(known.kind)), self.log
        assert secret.shape == (() if known.single else (len(known.values),)), self.log
        self.pairs.append((secret, known))

    def do_binary(self) -> Any:
        a, b = self.draw.choice(self.pairs), self.draw.choice(self.pairs)
        kind = meet(a[1].kind, b[1].kind)
        return None if kind is None else self.operated(kind, a, b, a[0], b[0])

    def do_weak(self) -> Any:
        a = self.draw.choice(self.pairs)
        kind: Kind = ("int", 64, 0) if a[1].kind == BOOL else a[1].kind
        number = Known(kind, [self.value(kind)], single=True)
        if kind[0] == "fixed":
            number.values = [number.values[0] % (1 << 20)]
            if wrap(number.values[0], kind) != number.values[0]:
                return None
        (public,) = number.opened()
        other = (self.s.public(0), number)
        if self.draw.random() < 0.5:
            return self.operated(kind, a, other, a[0], public)
        return self.operated(kind, other, a, public, a[0])

    def operated(self, kind: Kind, a: Pair, b: Pair, x: Any, y: Any) -> Any:
        fraction = kind[2]
        one = 1 << fraction
        names = ["+", "-", "*", "//", "%", "min", "max"] + (["/"] if fraction else ["&", "|", "^"])
        name = self.draw.choice(names)
        if kind == BOOL:
            name = self.draw.choice(["+", "*", "&", "|", "^", "min", "max", "//"])
            if name == "//":
                kind = ("int", 8, 0)
        table: dict[str, tuple[Callable[[int, int], int], Callable[[Any, Any], Any]]] = {
            "+": (lambda p, q: p | q if kind == BOOL else p + q, lambda p, q: p + q),
            "-": (lambda p, q: p - q, lambda p, q: p - q),
            "*": (lambda p, q: half_up(p * q, one) if fraction else p * q, lambda p, q: p * q),
            "/": (lambda p, q: half_up(p * one, q) if q else 0, lambda p, q: p / q),
            "//": (lambda p, q: p // q * one if q else 0, lambda p, q: p // q),
            "%": (lambda p, q: p % q if q else 0, lambda p, q: p % q),
            "&": (lambda p, q: p & q, lambda p, q: p & q),
            "|": (lambda p, q: p | q, lambda p, q: p | q),
            "^": (lambda p, q: p ^ q, lambda p, q: p ^ q),
            "min": (min, cenote.minimum),
            "max": (max, cenote.maximum),
        }
        plain, secret = table[name]
        # What is narrower is first made of the common type, as numpy does.
        known = each(kind, lambda p, q: plain(wrap(p, kind), wrap(q, kind)), a[1], b[1])
        return None if known is None else (f"{a[1].kind} {name} {b[1].kind}", secret(x, y), known)

    def do_compared(self) -> Any:
        a, b = self.draw.choice(self.pairs), self.draw.choice(self.pairs)
        if a[1].kind != b[1].kind and "fixed" in (a[1].kind[0], b[1].kind[0]):
            return None
        f: Callable[[Any, Any], Any] = self.draw.choice(
            [
                lambda p, q: p < q,
                lambda p, q: p <= q,
                lambda p, q: p > q,
                lambda p, q: p >= q,
                lambda p, q: p == q,
                lambda p, q: p != q,
            ]
        )
        known = each(BOOL, f, a[1], b[1])
        return None if known is None else ("compared", f(a[0], b[0]), known)

    def do_shift(self) -> Any:
        a = self.any(lambda known: known.kind[0] in ("uint", "int"))
        b = self.any(lambda known: known.kind[0] == "uint")
        if a is None:
            return None
        kind = a[1].kind
        left = self.draw.random() < 0.5
        if b is None or self.draw.random() < 0.5:
            by = self.draw.choice([0, 1, 3, 7, kind[1] - 1, kind[1] + 3])
            known = each(kind, lambda p: p << by if left else p >> by, a[1])
            return f"shift by {by}", a[0] << by if left else a[0] >> by, known
        met = meet(kind, b[1].kind)
        if met is None:
            return None
        known = each(met, lambda p, q: p << min(q, 128) if left else p >> min(q, 128), a[1], b[1])
        return None if known is None else ("shift", a[0] << b[0] if left else a[0] >> b[0], known)

    def do_unary(self) -> Any:
        a = self.any(lambda known: known.kind != BOOL)
        if a is None:
            return None
        secret, known = a
        kind = known.kind
        one = 1 << kind[2]
        match self.draw.randrange(4):
            case 0:
                return "neg", -secret, each(kind, lambda p: -p, known)
            case 1:
                return "abs", abs(secret), each(kind, abs, known)
            case 2:
                squared = each(kind, lambda p: half_up(p * p, one) if one > 1 else p * p, known)
                return "square", secret**2, squared
            case _:
                place = self.draw.randrange(kind[1])
                return f"bit {place}", secret.bit(place), each(BOOL, lambda p: p >> place & 1, known)

    def do_where(self) -> Any:
        c = self.any(lambda known: known.kind == BOOL)
        a, b = self.draw.choice(self.pairs), self.draw.choice(self.pairs)
        kind = meet(a[1].kind, b[1].kind)
        if c is None or kind is None:
            return None
        known = each(kind, lambda flag, p, q: p if flag else q, c[1], a[1], b[1])
        return None if known is None else ("where", cenote.where(c[0], a[0], b[0]), known)

    def do_fold(self) -> Any:
        a = self.any(lambda known: not known.single)
        if a is None:
            return None
        secret, known = a
        kind, values = known.kind, known.values
        total = kind
        if kind[0] != "fixed" and kind[1] <= 64:
            total = ("uint" if kind[0] == "uint" else "int", 64, 0)
        place: Kind = ("int", 64, 0)
        named: dict[str, tuple[Kind, int]] = {
            "sum": (total, sum(values)),
            "min": (kind, min(values)),
            "max": (kind, max(values)),
            "argmin": (place, values.index(min(values))),
            "argmax": (place, values.index(max(values))),
            "count_nonzero": (place, sum(value != 0 for value in values)),
            "any": (BOOL, int(any(values))),
            "all": (BOOL, int(all(values))),
        }
        if kind[0] == "fixed":
            named["mean"] = kind, half_up(sum(values), len(values))
        name = self.draw.choice(list(named))
        of, value = named[name]
        return name, getattr(secret, name)(), Known(of, [value], single=True)

    def do_row(self) -> Any:
        a = self.any(lambda known: not known.single)
        if a is None:
            return None
        secret, known = a
        kind, values = known.kind, known.values
        match self.draw.randrange(6):
            case 0:
                return "sort", secret.sort(), Known(kind, sorted(values), single=False)
            case 1:
                total = kind
                if kind[0] != "fixed" and kind[1] <= 64:
                    total = ("uint" if kind[0] == "uint" else "int", 64, 0)
                sums = [sum(values[: at + 1]) for at in range(len(values))]
                return "cumsum", secret.cumsum(), Known(total, sums, single=False)
            case 2:
                places = [self.draw.randrange(-len(values), len(values)) for _ in range(self.length)]
                return "take", secret.take(places), Known(kind, [values[place] for place in places], single=False)
            case 3:
                part = self.draw.choice([slice(None, None, -1), slice(0, 1), slice(None, None, 2), slice(-1, None)])
                return "slice", secret[part], Known(kind, values[part], single=False)
            case 4:
                b = self.any(lambda other: meet(kind, other.kind) is not None)
                assert b is not None
                both = meet(kind, b[1].kind)
                if both is None or len(values) + len(b[1].values) > 12:
                    return None
                return (
                    "concatenate",
                    cenote.concatenate([secret, b[0]]),
                    Known(both, values + b[1].values, single=False),
                )
            case _:
                same = self.any(
                    lambda other: not other.single and len(other.values) == len(values) and other is not known
                )
                both = None if same is None else meet(kind, same[1].kind)
                if same is None or both is None or both == BOOL:
                    return None
                summed = sum(p * q for p, q in zip(values, same[1].values, strict=True))
                value = half_up(summed, 1 << both[2]) if both[2] else summed
                return "dot", cenote.dot(secret, same[0]), Known(both, [value], single=True)

    def do_astype(self) -> Any:
        secret, known = self.draw.choice(self.pairs)
        was, kind = known.kind, self.kind()

        def changed(value: int) -> int:
            if kind == BOOL:
                return int(value != 0)
            if was[2] and not kind[2]:
                # Towards zero.
                return abs(value) // (1 << was[2]) * (1 if value >= 0 else -1)
            if kind[2] >= was[2]:
                return value << (kind[2] - was[2])
            return half_up(value, 1 << (was[2] - kind[2]))

        return f"{was} astype {kind}", secret.astype(ours(kind)), each(kind, changed, known)


def check(s: cenote.Session, seed: int) -> None:
    maker = Maker(s, seed)
    for _ in range(14):
        maker.step()
    opened = s.reveal(*(secret for secret, _ in maker.pairs))
    for place, ((secret, known), got) in enumerate(zip(maker.pairs, opened, strict=True)):
        values = np.atleast_1d(np.asarray(got, dtype=object)).tolist()
        assert values == known.opened(), f"seed {seed}, value {place} of {maker.log}: {secret!r}"


@pytest.mark.parametrize(("protocol", "parties", "count"), PROTOCOLS, ids=[name for name, _, _ in PROTOCOLS])
def test_random_programs(protocol: str, parties: int, count: int) -> None:
    if protocol == "clear":
        s = cenote.Session(_cenote.Program.clear(parties))
    else:
        s = cenote.session(parties, protocol=protocol)
    with s:
        for seed in range(FIRST, FIRST + count):
            check(s, seed)
