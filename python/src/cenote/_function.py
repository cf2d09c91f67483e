"""Functions: what is recorded once as a circuit, called often, and given to others as a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cenote import _cenote
from cenote._arithmetic import step
from cenote._array import Array
from cenote._cenote import UsageError
from cenote._public import Public, given, row
from cenote._secret import Secret
from cenote._steps import Steps, Value, broadcast, mixed
from cenote._types import BOOL, Type, dtype_of, uint, with_width

if TYPE_CHECKING:
    from cenote._session import Session


class Function:
    """A circuit that a program calls. :meth:`Session.function` and :meth:`Session.circuit` make it.

    A call with rows is done in each place, with numpy's broadcasting.

    Examples
    --------
    >>> distance = s.function(lambda a, b: abs(a - b), np.int32, np.int32)
    >>> distance(s.input(0, np.array([3, 9], dtype=np.int32)), 5).open()
    array([2, 4], dtype=int32)
    """

    __slots__ = ("_groups", "_inputs", "_is_single", "_outputs", "_session", "_text", "_value")

    def __init__(
        self,
        session: Session,
        number: int,
        inputs: Sequence[Type],
        outputs: Sequence[Type],
        *,
        groups: Sequence[int],
        is_single: bool,
        text: Callable[[], str],
    ) -> None:
        self._session = session
        self._value = Value(session, number, BOOL, None)
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)
        self._groups = tuple(groups)
        self._is_single = is_single
        self._text = text

    @property
    def inputs(self) -> tuple[Type, ...]:
        """The types of what it takes."""
        return self._inputs

    @property
    def outputs(self) -> tuple[Type, ...]:
        """The types of what it gives."""
        return self._outputs

    def __repr__(self) -> str:
        takes, gives = (", ".join(map(repr, types)) for types in (self._inputs, self._outputs))
        return f"<function ({takes}) -> ({gives})>"

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) != len(self._inputs):
            raise TypeError(f"this function takes {len(self._inputs)} arguments, and {len(arguments)} were given")
        session = self._session
        checked = [self._argument(at, argument) for at, argument in enumerate(arguments)]
        length = reduce(broadcast, (argument._length for argument in checked), None)
        every = [given(session, argument) for argument in checked]
        operands = []
        for count in self._groups:
            group, every = every[:count], every[count:]
            operands.append(joined(group) if count > 1 else group[0])
        numbers = [operand._number for operand in operands]
        number = session._apply("call", [self._value._number, *numbers])
        made = Secret(session, number, with_width(BOOL, sum(of.width for of in self._outputs)), length)
        results = parted(made, self._outputs)
        return results[0] if self._is_single else results

    def _argument(self, at: int, argument: Any) -> Secret | Public:
        dtype = self._inputs[at]
        if not isinstance(argument, Secret):
            if isinstance(argument, Array) and argument.dtype is not dtype:
                raise TypeError(f"argument {at} is {dtype}, not {argument.dtype}: state that type for its values")
            return row(dtype, argument, f"argument {at}")
        if argument._session is not self._session:
            raise mixed()
        if argument._dtype is not dtype:
            raise TypeError(f"argument {at} is {dtype}, not {argument._dtype}: write .astype({_written(dtype)})")
        return argument

    def to_bristol(self, path: str | os.PathLike[str]) -> None:
        """Write the circuit as a file in Bristol Fashion, which other programs read.

        Examples
        --------
        >>> s.function(lambda a, b: a & b, bool, bool).to_bristol("and.txt")  # doctest: +SKIP
        """
        Path(path).write_text(self._text(), encoding="ascii")


def _written(dtype: Type) -> str:
    return f"np.{dtype}" if dtype.is_numpy and dtype is not BOOL else repr(dtype)


def joined(columns: Sequence[Secret]) -> Secret:
    """Give records of these columns, the first one lowest."""
    width = sum(column._dtype.width for column in columns)
    length = reduce(broadcast, (column._length for column in columns), None)
    return step("join", tuple(columns), (), with_width(BOOL, width), length)


def parted(record: Secret, dtypes: Sequence[Type], first: int = 0) -> tuple[Secret, ...]:
    """Give the columns of records, of which the first begins at this bit."""
    columns = []
    for dtype in dtypes:
        columns.append(step("part", (record,), (first, dtype.width), dtype, record._length))
        first += dtype.width
    return tuple(columns)


def recorded(session: Session, function: Callable[..., Any], dtypes: Sequence[object]) -> Function:
    """Record a function of Python."""
    inputs = [dtype_of(dtype) for dtype in dtypes]
    if not inputs:
        raise TypeError("a function takes something: give a dtype for each argument")
    native = _cenote.Program.recording([of.width for of in inputs])
    recording = Steps(native, only_single=True)
    try:
        made = function(*(Secret(recording, at, of, None) for at, of in enumerate(inputs)))
    finally:
        recording._end("this secret was of a function, whose recording has ended: return what is used outside")
    outputs = made if isinstance(made, (tuple, list)) else (made,)
    for output in outputs:
        if not isinstance(output, Secret):
            raise TypeError(
                f"a function returns a secret or several, not a {type(output).__name__}: write x * 0 + 5 for a number"
            )
        if output._session is not recording:
            raise mixed()
    if not outputs:
        raise TypeError("a function returns a secret or several, and this one returned none")
    numbers = [output._number for output in outputs]
    number = session._native.define(native, numbers)
    # The outputs are known to the recording as long as they are kept.
    kept = tuple(outputs)
    return Function(
        session,
        number,
        inputs,
        [output._dtype for output in kept],
        groups=[1] * len(inputs),
        is_single=isinstance(made, Secret),
        text=lambda: native.to_bristol([output._number for output in kept]),
    )


def of_file(
    session: Session,
    path: str | os.PathLike[str],
    inputs: Sequence[object] | None,
    outputs: Sequence[object] | None,
) -> Function:
    """Take a circuit from a file in Bristol Fashion."""
    text = Path(path).read_text(encoding="utf-8")
    number, widths_in, widths_out = session._native.circuit(path, text)
    takes, groups = _typed("inputs", inputs, widths_in)
    gives, _ = _typed("outputs", outputs, widths_out)
    return Function(session, number, takes, gives, groups=groups, is_single=len(gives) == 1, text=lambda: text)


def _typed(name: str, given: Sequence[object] | None, widths: Sequence[int]) -> tuple[list[Type], list[int]]:
    """Give the types of the wires, and how many are those of each input or output."""
    if given is None:
        if max(widths) > 128:
            raise UsageError(
                f"the circuit has {name} of {list(widths)} bits: state {name}= with types that fill them, such as "
                f"{name}=[cenote.uint(128)] * {max(widths) // 128}"
            )
        return [uint(width) for width in widths], [1] * len(widths)
    types = [dtype_of(of) for of in given]
    groups = []
    at = 0
    for width in widths:
        count = bits = 0
        while bits < width and at < len(types):
            bits += types[at].width
            at += 1
            count += 1
        if bits != width:
            break
        groups.append(count)
    if len(groups) < len(widths) or at < len(types):
        raise UsageError(f"the circuit has {name} of {list(widths)} bits, which {types} do not fill")
    return types, groups
