"""Server-sent events, from bytes as they arrive."""

from __future__ import annotations

from cenote.service._types import NotOfForm

# Bytes of a line, and of the data of an event, at most.
LONGEST = 64 << 10


class Parser:
    r"""Makes the data of events out of parts of a stream. What is longer than events are is refused.

    Examples
    --------
    >>> parser = Parser()
    >>> parser.feed(b'data: {"event":'), parser.feed(b'"stock"}\n\n')
    ([], ['{"event":"stock"}'])
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[str] = []
        self._length = 0

    def feed(self, chunk: bytes) -> list[str]:
        """Take a part of the stream, and give the data of each event that it completes.

        Raises
        ------
        NotOfForm
            A line or an event is too long, or no text.
        """
        events = []
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._keep(line)
            event = self._line(bytes(self._rest).removesuffix(b"\r"))
            self._rest.clear()
            if event is not None:
                events.append(event)
        self._keep(rest)
        return events

    def _keep(self, part: bytes) -> None:
        if len(self._rest) + len(part) > LONGEST:
            raise NotOfForm(f"a line of events has more than {LONGEST} bytes")
        self._rest += part

    def _line(self, line: bytes) -> str | None:
        if not line:
            data, self._data, self._length = self._data, [], 0
            return "\n".join(data) if data else None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._length += len(value)
            if self._length > LONGEST:
                raise NotOfForm(f"an event has more than {LONGEST} bytes")
            try:
                self._data.append(value.removeprefix(b" ").decode())
            except UnicodeDecodeError:
                raise NotOfForm("an event is no text") from None
        return None
