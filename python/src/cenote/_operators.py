"""The operators of secrets, and what Python would do with them that must not be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from cenote._arithmetic import absolute, negative, operate, power, shifted, step
from cenote._encode import plain
from cenote._steps import Value
from cenote._types import BOOL

if TYPE_CHECKING:
    from cenote._secret import Secret


class Refusing(Value):
    """What would need to know a secret raises a TypeError that says what to write instead."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a secret is neither true nor false here: write cenote.where(c, a, b) in place of if, & | ~ in place of "
            "and, or, not, and .open() for what all may know"
        )

    def __int__(self) -> NoReturn:
        raise TypeError(
            "a secret is no int: write .astype(np.int64) for another type, and int(x.open()) if all may know"
        )

    def __float__(self) -> NoReturn:
        raise TypeError(
            "a secret is no float: write .astype(cenote.fixed(32, 16)) for another type, and float(x.open()) "
            "if all may know"
        )

    def __complex__(self) -> NoReturn:
        raise TypeError("a secret is no complex number")

    def __index__(self) -> NoReturn:
        raise TypeError(
            "a secret is no place or count: write s.memory(values).read(place) for a secret place, and a loop with "
            "cenote.where for a secret count"
        )

    def __iter__(self) -> Iterator[NoReturn]:
        raise TypeError(
            "the values of a secret row are not gone through one by one: calculate with the whole row, or write "
            "[x[i] for i in range(len(x))] for each as a secret of its own"
        )

    def __reversed__(self) -> NoReturn:
        raise TypeError(
            "the values of a secret row are not gone through one by one: write x[::-1] for the row reversed"
        )

    def __contains__(self, value: object) -> NoReturn:
        raise TypeError("whether a value is in a secret row is secret: write (x == value).any()")

    def __hash__(self) -> int:
        raise TypeError(
            "a secret has no hash: dictionaries and sets by secret keys are s.memory, s.group_by and s.join"
        )

    def __setitem__(self, place: object, value: object) -> NoReturn:
        raise TypeError(
            "a secret does not change: write cenote.where(c, a, b) or cenote.concatenate for a new row, or keep "
            "the row in s.memory(values)"
        )

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError("a secret is not written out: write x.open() first if all may know it")
        return repr(self)

    def __array__(self, *arguments: object, **named: object) -> NoReturn:
        raise TypeError(
            "a secret is no array of numpy: open it first by x.open(), or calculate with its own methods; left of it, "
            "write s.public(values) for a masked array, and for a Series of pandas before @"
        )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a secret is not pickled or copied: it is bound to its session, and x itself never changes")

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(0)

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce_ex__(0)


def _by(secret: Secret, name: str, by: object) -> Secret:
    """Shift by a number or by secrets."""
    if by.__class__ is not secret.__class__:
        if isinstance(by, int):
            return shifted(secret, name, int(by))
        if hasattr(by, "dtype") or isinstance(by, (list, tuple)):
            import numpy as np

            if bool(np.any(np.less(plain(by, "the array of places to shift by"), 0))):
                raise ValueError("negative shift count")
    return operate(name, secret, by)


def inverted(secret: Secret) -> Secret:
    """Give all bits the other way round."""
    if secret._dtype.kind == "fixed":
        raise TypeError("fixed-point secrets have no ~: write -x")
    return step("not", (secret,), (), secret._dtype, secret._length)


def _compared(name: str, a: object, b: object) -> Secret:
    made = operate(name, a, b)
    if made is NotImplemented:
        public = b if isinstance(a, Value) else a
        raise TypeError(f"a secret is not compared with a {type(public).__name__}: give a number or an array")
    return made


class Operators(Refusing):
    """The operators, with numpy's types and broadcasting. Rows of pandas go by position, and not by their index."""

    __slots__ = ()

    # pandas leaves operators to what has more than its own 3000 and 4000.
    __pandas_priority__ = 5000

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **named: Any) -> Any:
        """Calculate where numpy comes with one of its functions, or with an array beside an operator."""
        name = ufunc.__name__
        if method == "reduce" and name in _REDUCTIONS and isinstance(named.get("where"), Value):
            raise masked_by_secret(_REDUCTIONS[name])
        known = _UFUNCS.get(name)
        if known is None or method != "__call__" or named:
            raise TypeError(
                f"np.{name} does not take secrets{'' if known is None else ' in this way'}: write what it does with "
                "their own methods and operators, or open them first"
            )
        made = known(*given)
        if made is NotImplemented:
            raise TypeError(f"np.{name} takes secrets, numbers and arrays of numbers")
        return made

    def __add__(self: Any, other: object) -> Secret:
        return operate("add", self, other)

    def __radd__(self: Any, other: object) -> Secret:
        return operate("add", other, self)

    def __sub__(self: Any, other: object) -> Secret:
        return operate("sub", self, other)

    def __rsub__(self: Any, other: object) -> Secret:
        return operate("sub", other, self)

    def __mul__(self: Any, other: object) -> Secret:
        return operate("mul", self, other)

    def __rmul__(self: Any, other: object) -> Secret:
        return operate("mul", other, self)

    def __truediv__(self: Any, other: object) -> Secret:
        return operate("truediv", self, other)

    def __rtruediv__(self: Any, other: object) -> Secret:
        return operate("truediv", other, self)

    def __floordiv__(self: Any, other: object) -> Secret:
        return operate("floordiv", self, other)

    def __rfloordiv__(self: Any, other: object) -> Secret:
        return operate("floordiv", other, self)

    def __mod__(self: Any, other: object) -> Secret:
        return operate("mod", self, other)

    def __rmod__(self: Any, other: object) -> Secret:
        return operate("mod", other, self)

    def __divmod__(self: Any, other: object) -> tuple[Secret, Secret]:
        return _both(lambda name: operate(name, self, other))

    def __rdivmod__(self: Any, other: object) -> tuple[Secret, Secret]:
        return _both(lambda name: operate(name, other, self))

    def __matmul__(self: Any, other: object) -> Secret:
        return _dot(self, other)

    def __rmatmul__(self: Any, other: object) -> Secret:
        return _dot(other, self)

    def __pow__(self: Any, exponent: object) -> Secret:
        return power(self, exponent)

    def __rpow__(self: Any, base: object) -> NoReturn:
        raise TypeError("a secret is no exponent: write 1 << x for powers of two")

    def __and__(self: Any, other: object) -> Secret:
        return operate("and", self, other)

    def __rand__(self: Any, other: object) -> Secret:
        return operate("and", other, self)

    def __or__(self: Any, other: object) -> Secret:
        return operate("or", self, other)

    def __ror__(self: Any, other: object) -> Secret:
        return operate("or", other, self)

    def __xor__(self: Any, other: object) -> Secret:
        return operate("xor", self, other)

    def __rxor__(self: Any, other: object) -> Secret:
        return operate("xor", other, self)

    def __lshift__(self: Any, by: object) -> Secret:
        return _by(self, "shl", by)

    def __rlshift__(self: Any, other: object) -> Secret:
        return operate("shl", other, self)

    def __rshift__(self: Any, by: object) -> Secret:
        return _by(self, "shr", by)

    def __rrshift__(self: Any, other: object) -> Secret:
        return operate("shr", other, self)

    def __lt__(self: Any, other: object) -> Secret:
        return _compared("less", self, other)

    def __gt__(self: Any, other: object) -> Secret:
        return _compared("less", other, self)

    def __le__(self: Any, other: object) -> Secret:
        return inverted(_compared("less", other, self))

    def __ge__(self: Any, other: object) -> Secret:
        return inverted(_compared("less", self, other))

    def __eq__(self: Any, other: object) -> Secret:  # type: ignore[override]
        return _compared("equal", self, other)

    def __ne__(self: Any, other: object) -> Secret:  # type: ignore[override]
        return inverted(_compared("equal", self, other))

    __hash__ = Refusing.__hash__

    def __neg__(self: Any) -> Secret:
        return negative(self)

    def __pos__(self: Any) -> Secret:
        if self._dtype is BOOL:
            raise TypeError("secret bools have no unary +")
        return self  # type: ignore[no-any-return]

    def __abs__(self: Any) -> Secret:
        return absolute(self)

    def __invert__(self: Any) -> Secret:
        return inverted(self)


def masked_by_secret(name: str) -> TypeError:
    """Say what to write where numpy would reduce public values with a secret mask."""
    options = "initial=b, where=mask" if name in ("max", "min") else "where=mask"
    return TypeError(f"np.{name} of public values takes no secret mask: write s.public(a).{name}({options})")


def _both(divided: Callable[[str], Secret]) -> tuple[Secret, Secret]:
    quotient = divided("floordiv")
    if quotient is NotImplemented:
        return NotImplemented  # type: ignore[no-any-return]
    return quotient, divided("mod")


def _dot(a: Any, b: Any) -> Secret:
    from cenote._rows import dot

    for factor in (a, b):
        if getattr(factor, "ndim", 1) > 1:
            raise TypeError(
                "rows have one dimension: write cenote.matmul(A.ravel(), x, shape=(n, k, 1)) in place of A @ x"
            )
        if not isinstance(factor, (Operators, list, tuple)) and not hasattr(factor, "dtype"):
            return NotImplemented  # type: ignore[no-any-return]
    return dot(a, b)


def _operator(name: str) -> Callable[[Any, Any], Any]:
    return lambda a, b: operate(name, a, b)


# As which methods numpy reduces with its functions.
_REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}
# What the functions of numpy do, by their names.
_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": _operator("add"),
    "subtract": _operator("sub"),
    "multiply": _operator("mul"),
    "divide": _operator("truediv"),
    "true_divide": _operator("truediv"),
    "floor_divide": _operator("floordiv"),
    "remainder": _operator("mod"),
    "divmod": lambda a, b: _both(lambda name: operate(name, a, b)),
    "matmul": lambda a, b: _dot(a, b),
    "bitwise_and": _operator("and"),
    "bitwise_or": _operator("or"),
    "bitwise_xor": _operator("xor"),
    "left_shift": lambda a, b: a << b if isinstance(a, Operators) else operate("shl", a, b),
    "right_shift": lambda a, b: a >> b if isinstance(a, Operators) else operate("shr", a, b),
    "minimum": _operator("min"),
    "maximum": _operator("max"),
    "less": lambda a, b: _compared("less", a, b),
    "greater": lambda a, b: _compared("less", b, a),
    "less_equal": lambda a, b: inverted(_compared("less", b, a)),
    "greater_equal": lambda a, b: inverted(_compared("less", a, b)),
    "equal": lambda a, b: _compared("equal", a, b),
    "not_equal": lambda a, b: inverted(_compared("equal", a, b)),
    "invert": lambda a: inverted(a),
    "negative": lambda a: negative(a),
    "absolute": lambda a: absolute(a),
    "power": lambda a, b: power(a, b),
}
