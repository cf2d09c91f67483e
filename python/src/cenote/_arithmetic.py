"""What operators do with secrets: the types they give, and the steps that compute them.

Whole numbers wrap around as in numpy and in Rust. Fixed-point numbers are whole multiples of 2^-fraction; where a
result is no such multiple it is rounded to the nearest one, and up from the middle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cenote._public import COMPARISONS, SYMBOLS, Public, checked, given
from cenote._steps import Value, broadcast, constant, mixed
from cenote._types import BOOL, INT8, INT64, Type, both, dtype_of, promoted, whole_of, with_width

if TYPE_CHECKING:
    from cenote._secret import Secret

_Special = Callable[["Secret", "Secret", Type, "int | None"], "Secret"]
_Rule = tuple[str, "Type | None", Type, tuple[int, ...], "_Special | None"]

_RULES: dict[tuple[str, Type, Type], _Rule] = {}


def binary(name: str, a: Secret, b: Secret) -> Secret:
    """Apply an operator to two secrets."""
    session = a._session
    if session is not b._session:
        raise mixed()
    native, common, result, numbers, special = _rule_of(name, a._dtype, b._dtype)
    length = a._length if a._length == b._length else broadcast(a._length, b._length)
    if special is not None:
        return special(a, b, result, length)
    if common is not None:
        a, b = cast(a, common), cast(b, common)
    return a.__class__(session, session._apply(native, (a._number, b._number), numbers), result, length)


def _rule_of(name: str, a: Type, b: Type) -> _Rule:
    rule = _RULES.get((name, a, b))
    if rule is None:
        rule = _RULES[name, a, b] = _rule(name, a, b)
    return rule


def _rule(name: str, a: Type, b: Type) -> _Rule:
    """Say how an operator is computed of these types."""
    if a.kind == "fixed" or b.kind == "fixed":
        return _fixed_rule(name, a, b)
    if name in COMPARISONS:
        common, result = both(a, b), BOOL
    elif name == "truediv":
        raise TypeError(
            "secret whole numbers have no /: write // for the quotient that is rounded down, or "
            ".astype(cenote.fixed(32, 16)) of both"
        )
    else:
        common = result = promoted(a, b)
    if common is BOOL:
        if name == "sub":
            raise TypeError("secret bools have no -: write a ^ b")
        if name in ("floordiv", "mod", "shl", "shr"):
            common = result = INT8
        name = {"add": "or", "mul": "and"}.get(name, name)
    if name in ("shl", "shr"):
        return name, None, result, (), _shifted_by(name)
    numbers = (int(common.signed),) if name in ("less", "floordiv", "mod", "min", "max") else ()
    is_same = a.width == b.width == common.width
    return name, None if is_same else common, result, numbers, None


def _fixed_rule(name: str, a: Type, b: Type) -> _Rule:
    if name in ("and", "or", "xor", "shl", "shr"):
        advice = "x * 4 or x / 4 in place of shifts by 2" if name in ("shl", "shr") else ".astype(np.int64) of both"
        raise TypeError(f"fixed-point secrets have no {SYMBOLS[name]}: write {advice}")
    of = promoted(a, b)
    special = {"mul": _times, "truediv": _divided, "floordiv": _floor_divided}.get(name)
    numbers = (1,) if name in ("less", "mod", "min", "max") else ()
    return name, None, BOOL if name in COMPARISONS else of, numbers, special


def cast(a: Secret, dtype: Type) -> Secret:
    """Give a secret in as many bits as this type has; what it was must be kept until it is used."""
    if a._dtype.width == dtype.width:
        return a
    number = a._session._apply("resize", (a._number,), (dtype.width, int(a._dtype.signed)))
    return a.__class__(a._session, number, dtype, a._length)


def step(name: str, operands: tuple[Secret, ...], numbers: tuple[int, ...], dtype: Type, length: int | None) -> Secret:
    """Apply a step of the native class to secrets of one session."""
    first = operands[0]
    session = first._session
    number = session._apply(name, [operand._number for operand in operands], numbers)
    return first.__class__(session, number, dtype, length)


def _wide(a: Secret, width: int) -> Secret:
    return cast(a, with_width(a._dtype, width))


def _times(a: Secret, b: Secret, result: Type, length: int | None) -> Secret:
    width = result.width + result.fraction
    first = _wide(a, width)
    second = first if b is a else _wide(b, width)
    return rounded(step("mul", (first, second), (), first._dtype, length), result)


def rounded(product: Secret, dtype: Type) -> Secret:
    """Give what has twice as many bits after the point as this type, and the type's width with one fraction more."""
    half = constant(product._session, product._dtype, 1 << (dtype.fraction - 1))
    above = step("add", (product, half), (), product._dtype, product._length)
    return step("part", (above,), (dtype.fraction, dtype.width), dtype, product._length)


def quotient(a: Secret, b: Secret, result: Type, length: int | None) -> Secret:
    """Give the quotient of two whole numbers, of which the first was doubled, rounded to the nearest."""
    doubled = step("floordiv", (a, b), (1,), a._dtype, length)
    above = step("add", (doubled, constant(a._session, a._dtype, 1)), (), a._dtype, length)
    return step("part", (above,), (1, result.width), result, length)


def _divided(a: Secret, b: Secret, result: Type, length: int | None) -> Secret:
    width = result.width + result.fraction + 2
    wide = _wide(a, width)
    shifted = step("shl", (wide,), (result.fraction + 1,), wide._dtype, a._length)
    return quotient(shifted, _wide(b, width), result, length)


def _floor_divided(a: Secret, b: Secret, result: Type, length: int | None) -> Secret:
    whole = step("floordiv", (a, b), (1,), result, length)
    return step("shl", (whole,), (result.fraction,), result, length)


def _shifted_by(direction: str) -> _Special:
    def shifted(a: Secret, b: Secret, result: Type, length: int | None) -> Secret:
        # A negative number of places is beyond every width when its bits are read without the sign.
        by = cast(b, result) if b._dtype.signed else b
        numbers = (int(result.signed),) if direction == "shr" else ()
        return step(f"{direction}_by", (cast(a, result), by), numbers, result, length)

    return shifted


def shifted(a: Secret, name: str, by: int) -> Secret:
    """Shift by a public number of places."""
    if by < 0:
        raise ValueError("negative shift count")
    dtype = a._dtype
    if dtype.kind == "fixed":
        _fixed_rule(name, dtype, dtype)
    if dtype is BOOL:
        a, dtype = cast(a, INT64), INT64
    numbers = (min(by, dtype.width),) + ((int(dtype.signed),) if name == "shr" else ())
    return step(name, (a,), numbers, dtype, a._length)


def negative(a: Secret) -> Secret:
    """Give the secret with the other sign; whole numbers without a sign wrap around."""
    if a._dtype is BOOL:
        raise TypeError("secret bools have no unary -: write ~a")
    return step("neg", (a,), (), a._dtype, a._length)


def absolute(a: Secret) -> Secret:
    """Give the secret without its sign."""
    dtype = a._dtype
    if not dtype.signed:
        return a
    sign = step("part", (a,), (dtype.width - 1, 1), BOOL, a._length)
    return step("select", (sign, negative(a), a), (), dtype, a._length)


def power(a: Secret, exponent: object) -> Secret:
    """Give a public power. A number of Python takes the secret's type, and one of numpy has its own."""
    if not isinstance(a, Value):
        raise TypeError("a secret is no exponent: write 1 << x for powers of two")
    left = None if isinstance(exponent, Value) else whole_of(exponent)
    if left is None:
        raise TypeError("the exponent of a secret is a public whole number: multiply for others")
    if left < 0:
        raise ValueError("the exponent of a secret is not negative: write 1 / x of a fixed-point secret")
    of = INT64 if a._dtype is BOOL else a._dtype
    if hasattr(exponent, "dtype") and of.kind != "fixed":
        of = promoted(a._dtype, dtype_of(exponent.dtype))
    base = converted(a, of)
    if left == 0:
        one = constant(a._session, base._dtype, 1 << base._dtype.fraction)
        return step("fill", (one,), (a._length or 1,), base._dtype, a._length)
    made = None
    while True:
        if left & 1:
            made = base if made is None else binary("mul", made, base)
        left >>= 1
        if not left:
            assert made is not None
            return made
        base = binary("mul", base, base)


def is_true(a: Secret) -> Secret:
    """Give whether each value is not zero."""
    if a._dtype is BOOL:
        return a
    zero = constant(a._session, a._dtype, 0)
    return step("not", (step("equal", (a, zero), (), BOOL, a._length),), (), BOOL, a._length)


def converted(a: Secret, dtype: Type) -> Secret:
    """Give the secret as one of another type, as numpy does."""
    was = a._dtype
    if was is dtype:
        return a
    if dtype is BOOL:
        return is_true(a)
    if was.kind == "fixed" and dtype.kind == "fixed":
        return _with_fraction(a, dtype)
    if was.kind == "fixed":
        return _truncated(a, dtype)
    number: Any = a._session._apply("resize", (a._number,), (dtype.width, int(was.signed)))
    whole = a.__class__(a._session, number, dtype, a._length)
    return step("shl", (whole,), (dtype.fraction,), dtype, a._length) if dtype.fraction else whole


def _with_fraction(a: Secret, dtype: Type) -> Secret:
    was = a._dtype
    if dtype.fraction >= was.fraction:
        wide = _wide(a, dtype.width)
        return step("shl", (wide,), (dtype.fraction - was.fraction,), dtype, a._length)
    left = was.fraction - dtype.fraction
    wide = _wide(a, max(was.width + 1, dtype.width + left))
    above = step("add", (wide, constant(a._session, wide._dtype, 1 << (left - 1))), (), wide._dtype, a._length)
    return step("part", (above,), (left, dtype.width), dtype, a._length)


def _truncated(a: Secret, dtype: Type) -> Secret:
    """Give the whole part, rounded towards zero."""
    was, length = a._dtype, a._length
    wide = _wide(a, max(was.width + 1, was.fraction + dtype.width))
    sign = step("part", (a,), (was.width - 1, 1), BOOL, length)
    # All bits after the point where it is negative, so that rounding down rounds up.
    below = step("resize", (sign,), (was.fraction, 1), with_width(BOOL, was.fraction), length)
    bias = cast(below, wide._dtype)
    above = step("add", (wide, bias), (), wide._dtype, length)
    return step("part", (above,), (was.fraction, dtype.width), dtype, length)


def operate(name: str, a: object, b: object) -> Secret:
    """Apply an operator of which one side is a secret and the other a secret or public."""
    if a.__class__ is b.__class__:
        return binary(name, a, b)  # type: ignore[arg-type]
    is_first = isinstance(a, Value)
    secret, other = (a, b) if is_first else (b, a)
    public = checked(secret._dtype, other, name)  # type: ignore[attr-defined]
    if public is None:
        return NotImplemented  # type: ignore[no-any-return]
    meeting(name, secret, public) if is_first else meeting(name, public, secret)  # type: ignore[arg-type]
    known = given(secret._session, public)  # type: ignore[attr-defined]
    return binary(name, secret, known) if is_first else binary(name, known, secret)  # type: ignore[arg-type]


def meeting(name: str, a: Secret | Public, b: Secret | Public) -> tuple[Type, int | None]:
    """Give the type and the length of what an operator gives, which raises what is wrong with its operands."""
    return _rule_of(name, a._dtype, b._dtype)[2], broadcast(a._length, b._length)


def clipped(a: Secret, least: object, greatest: object) -> Secret:
    """Give what lies beyond two limits as the nearer of them."""
    limits: list[Secret | Public] = []
    like: Secret | Public = a
    for name, limit in (("max", least), ("min", greatest)):
        if limit is None:
            raise TypeError("clip has two limits: write cenote.minimum(x, greatest) or cenote.maximum(x, least)")
        if isinstance(limit, Value) and limit._session is not a._session:
            raise mixed()
        known = limit if isinstance(limit, a.__class__) else checked(like._dtype, limit, name)
        if known is None:
            raise TypeError(f"a limit of clip is a number, an array or a secret, not a {type(limit).__name__}")
        like = Public(*meeting(name, like, known), b"")
        limits.append(known)
    low, high = (given(a._session, limit) for limit in limits)
    return binary("min", binary("max", a, low), high)
