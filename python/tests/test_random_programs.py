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
from known_values import BOOL, NUMPY, Kind, Known, each, half_up, meet, ours, total_of, wrap

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

ANY = "bool uint int fixed"
Pair = tuple[cenote.Secret, Known]


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
            [
                *("binary", "binary", "binary", "weak", "compared", "shift", "unary", "where", "fold", "row", "astype"),
                *("clip", "matmul", "memory", "sorted", "grouped", "joined", "chosen"),
            ]
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
        b = self.any(lambda known: known.kind[0] in ("uint", "int"))
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

        def shifted(value: int, by: int) -> int:
            # A negative number of places is beyond the width.
            places = min(by, 128) if by >= 0 else 128
            return value << places if left else value >> places

        known = each(met, shifted, a[1], b[1])
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
        total = total_of(kind)
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
        elif kind[1] <= 47:
            named["mean"] = ("fixed", 64, 16), half_up(sum(values) << 16, len(values))
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
                total = total_of(kind)
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

    def rows(self, *kinds: str) -> list[Pair]:
        """Give as many rows of one length, of these kinds."""
        first = self.any(lambda known: not known.single)
        if first is None:
            return []
        length = len(first[1].values)
        fits = [pair for pair in self.pairs if not pair[1].single and len(pair[1].values) == length]
        of_kinds = [[pair for pair in fits if pair[1].kind[0] in kind.split()] for kind in kinds]
        made = [self.draw.choice(fitting) if fitting else None for fitting in of_kinds]
        return [pair for pair in made if pair is not None] if None not in made else []

    def do_clip(self) -> Any:
        a = self.any(lambda known: known.kind != BOOL)
        if a is None:
            return None
        kind = a[1].kind
        limits = Known(kind, [self.value(kind) % (1 << min(20, kind[1] - 1)) for _ in range(2)], single=False)
        low, high = limits.values
        return "clip", a[0].clip(*limits.opened()), each(kind, lambda p: min(max(p, low), high), a[1])

    def do_matmul(self) -> Any:
        given = self.rows("uint int fixed", "uint int fixed")
        kind = meet(given[0][1].kind, given[1][1].kind) if given else None
        if kind is None or len(given[0][1].values) > 3:
            return None
        (a, left), (b, right) = given
        length = len(left.values)
        products = [p * q for p in left.values for q in right.values]
        shape = (length, 1, length)
        if self.draw.random() < 0.5:
            products, shape = [sum(products[:: length + 1])], (1, length, 1)
        made = [half_up(product, 1 << kind[2]) if kind[2] else product for product in products]
        return "matmul", cenote.matmul(a, b, shape=shape), Known(kind, made, single=False)

    def do_memory(self) -> Any:
        a = self.any(lambda known: not known.single)
        at = self.any(lambda known: known.single and known.kind[0] in ("uint", "int"))
        if a is None or at is None:
            return None
        row, known = a
        place = at[1].values[0]
        memory = self.s.memory(row)
        old = known.values[place] if 0 <= place < len(known.values) else 0
        got = memory.access(True, at[0], memory.read(0))
        values = list(known.values)
        if 0 <= place < len(values):
            values[place] = values[0]
        last = memory.read(-1)
        self.pairs.append((last, Known(known.kind, values[-1:], single=True)))
        return "memory", got, Known(known.kind, [old], single=True)

    def do_sorted(self) -> Any:
        given = self.rows(ANY, ANY)
        if not given:
            return None
        (a, first), (b, second) = given
        (key, _), moved = self.s.sort_by((a, b), b)
        order = sorted(zip(first.values, second.values, strict=True))
        self.pairs.append((key, Known(first.kind, [p for p, _ in order], single=False)))
        return "sort_by", moved, Known(second.kind, [q for _, q in order], single=False)

    def do_grouped(self) -> Any:
        given = self.rows(ANY, ANY)
        if not given:
            return None
        (key, keys), (column, values) = given
        how = self.draw.choice(["sum", "min", "max"])
        groups = self.s.group_by(key, made=(column, how), count="count")
        by: dict[int, list[int]] = {}
        for k, value in zip(keys.values, values.values, strict=True):
            by.setdefault(k, []).append(value)
        folds: dict[str, Callable[[list[int]], int]] = {"sum": sum, "min": min, "max": max}
        made: list[int] = []
        counts: list[int] = []
        last: list[int] = []
        for k in sorted(by):
            rest = [0] * (len(by[k]) - 1)
            made += [*rest, folds[how](by[k])]
            counts += [*rest, len(by[k])]
            last += [*rest, 1]
        self.pairs.append((groups.key, Known(keys.kind, sorted(keys.values), single=False)))
        self.pairs.append((groups.last, Known(BOOL, last, single=False)))
        self.pairs.append((groups.columns["count"], Known(("int", 64, 0), counts, single=False)))
        kind = total_of(values.kind) if how == "sum" else values.kind
        return f"group_by {how}", groups.columns["made"], Known(kind, made, single=False)

    def do_joined(self) -> Any:
        given = self.rows("uint int", ANY)
        right = self.rows("uint int")
        if not given or not right:
            return None
        (key, keys), (column, values) = given
        other, others = right[0]
        table = self.s.join(key, [column], other, [other])
        is_unique = len(set(keys.values)) == len(keys.values)
        known = dict(zip(keys.values, values.values, strict=True)) if is_unique else {}
        order = sorted(others.values)
        self.pairs.append((table.unique, Known(BOOL, [int(is_unique)], single=True)))
        self.pairs.append((table.found, Known(BOOL, [int(k in known) for k in order], single=False)))
        self.pairs.append((table.right[0], Known(others.kind, order, single=False)))
        return "join", table.left[0], Known(values.kind, [known.get(k, 0) for k in order], single=False)

    def do_chosen(self) -> Any:
        given = self.rows("bool", ANY)
        if not given:
            return None
        (flags, chosen), (column, values) = given
        kept = [value for value, flag in zip(values.values, chosen.values, strict=True) if flag]
        opened = self.s.open_chosen(flags, column)
        assert np.asarray(opened, dtype=object).tolist() == Known(values.kind, kept, single=False).opened(), self.log
        moved, count = self.s.compact(flags, column)
        self.pairs.append((count, Known(("int", 64, 0), [len(kept)], single=True)))
        padded = kept + [0] * (len(values.values) - len(kept))
        return "compact", moved, Known(values.kind, padded, single=False)


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
