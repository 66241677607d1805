"""Header of a GGUF file, checked by our own limits before a library touches it.

The format: github.com/ggml-org/ggml, docs/gguf.md: magic, version, two counts, key-value pairs, a list of tensors, then their bytes.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.checkpoints.files import MB, printable
from core.errors import InputError, Phrase
from core.wording import mark

MAX_PAIRS, MAX_TENSORS, MAX_ITEMS, MAX_LETTERS, MAX_HEADER = 2_000, 20_000, 2**21, 2**16, 64 * MB
NUMBERS: Mapping[int, str] = {
    **{0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"},
}
"""How each type of number is packed."""
STRING, ARRAY = 8, 9
RULE = mark("A GGUF file of version 2 or 3 is a list of facts, a list of tensors, and exactly their bytes.")
REMEDY = mark("Download the file again.")


@dataclass(frozen=True, slots=True)
class Stored:
    """Tensor of a file: its number format, its shape (rows first), the byte where it begins."""

    kind: int
    shape: tuple[int, ...]
    begin: int


@dataclass(frozen=True)
class GGUFHeader:
    """Facts by name, tensors by name, and the byte where the tensors begin."""

    facts: Mapping[str, Any]
    tensors: Mapping[str, Stored]
    begin: int


def read_gguf_header(path: Path) -> GGUFHeader:
    """Return the header of a GGUF file.

    At most 2,000 facts, 20,000 tensors, lists of 2 million, strings of 65,536 bytes, 64 MB in all; nothing twice, nothing
    beyond the file's end. Raises InputError otherwise.
    """
    if path.stat().st_size < 24:
        raise bad(path, "it is shorter than a header")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _Reader(path, data).header()
        except (struct.error, UnicodeDecodeError, IndexError):
            raise bad(path, "its header ends in the midst of a fact, or is no text") from None


class _Reader:
    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path, self.data, self.at = path, data, 0
        self.end = min(len(data), MAX_HEADER)

    def header(self) -> GGUFHeader:
        magic, version, n_tensors, n_facts = self.take("<4sIQQ")
        if magic != b"GGUF":
            raise bad(self.path, "it does not begin with GGUF")
        if version in (2 << 24, 3 << 24):
            raise bad(self.path, "it is big-endian, and only little-endian files are read")
        if version not in (2, 3):
            raise bad(self.path, "it is of version {version}", version=version)
        if n_tensors > MAX_TENSORS or n_facts > MAX_PAIRS:
            raise bad(
                self.path,
                "it lists {tensors:,} tensors and {facts:,} facts, of which at most {most:,} and {most_facts:,} are read",
                tensors=n_tensors,
                facts=n_facts,
                most=MAX_TENSORS,
                most_facts=MAX_PAIRS,
            )
        facts: dict[str, Any] = {}
        for _ in range(n_facts):
            self._once(name := self.string(), facts)
            facts[name] = self.value(self.take("<I")[0])
        tensors: dict[str, Stored] = {}
        for _ in range(n_tensors):
            self._once(name := self.string(), tensors)
            (rank,) = self.take("<I")
            if not 1 <= rank <= 4:
                wrong = mark("'{name}' has {n:,} axes, and not one to four")
                raise bad(self.path, wrong, name=printable(name), n=rank)
            shape = self.take(f"<{rank}Q")
            if math.prod(shape) > 2**40 or 0 in shape:
                raise bad(self.path, "'{name}' has the shape {shape}", name=printable(name), shape=str(shape))
            kind, begin = self.take("<IQ")
            tensors[name] = Stored(kind, tuple(reversed(shape)), begin)
        step = facts.get("general.alignment", 32)
        if type(step) is not int or not (8 <= step <= 2**16 and step & (step - 1) == 0):
            raise bad(self.path, "its alignment is no power of two")
        return GGUFHeader(facts, tensors, -(-self.at // step) * step)

    def value(self, kind: int) -> Any:
        """Return a number, a string, or a list of them."""
        if kind == STRING:
            return self.string()
        if kind in NUMBERS:
            return self.take("<" + NUMBERS[kind])[0]
        if kind != ARRAY:
            raise bad(self.path, "a fact is of the kind {kind}", kind=kind)
        inner, n = self.take("<IQ")
        if n > MAX_ITEMS:
            wrong = mark("a list has {n:,} items, of which at most {most:,} are read")
            raise bad(self.path, wrong, n=n, most=MAX_ITEMS)
        if inner == STRING:
            return [self.string() for _ in range(n)]
        if inner not in NUMBERS:
            raise bad(self.path, "a list is of the kind {kind}", kind=inner)
        return list(self.take(f"<{n}{NUMBERS[inner]}"))

    def string(self) -> str:
        (n,) = self.take("<Q")
        if n > MAX_LETTERS:
            wrong = mark("a string has {n:,} bytes, of which at most {most:,} are read")
            raise bad(self.path, wrong, n=n, most=MAX_LETTERS)
        return self._bytes(n).decode("utf-8")

    def take(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))

    def _bytes(self, n: int) -> bytes:
        if self.at + n > self.end:
            raise bad(self.path, "its header is cut off, or has more than 64 MB")
        self.at += n
        return self.data[self.at - n : self.at]

    def _once(self, name: str, entries: Mapping[str, Any]) -> None:
        if name in entries:
            raise bad(self.path, "'{name}' occurs twice", name=printable(name))


def bad(path: Path, problem: str, **values: Any) -> InputError:
    """Return the error for a damaged file; `problem` is a part of a sentence with `values`."""
    return InputError(
        "{name} is damaged: {problem}.", RULE, REMEDY, name=path.name, problem=Phrase(problem, **values)
    )
