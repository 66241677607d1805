"""The prompt of a decoding: the given ids, their labels, and the text so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from core.decoding.filters import Filter, NotAllowed
from core.errors import InputError
from core.run.bad_words import TokenSequences
from core.wording import mark

if TYPE_CHECKING:
    from core.model import Model
    from core.run import Run

START, END = "START", "END"


class Names(Protocol):
    """The part of a tokenizer that a decoding needs."""

    def token(self, index: int) -> str: ...

    def decode(self, ids: Sequence[int]) -> str: ...


@dataclass(frozen=True)
class Prompt:
    """The beginning of a decoding: `ids` as the network reads them; the first `hidden` of them (START) are no text.

    `source`, `source_tokens` and `source_special_positions`, the positions of its special tokens, belong to a model that reads another sequence; all are empty for one that continues.
    `values` (token, number) are the numbers of the source's tokens, where these are no words.
    `room` is how many tokens the network reads at most; `end` ends a text, and so do `ends`; `bad_words` is what may not be written, `first` is always written first.
    """

    ids: tuple[int, ...]
    names: Names
    room: int
    hidden: int = 0
    end: int | None = None
    source: tuple[int, ...] = ()
    source_tokens: tuple[str, ...] = ()
    source_special_positions: tuple[int, ...] = ()
    note: str = ""
    bad_words: TokenSequences = ()
    values: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    ends: tuple[int, ...] = ()
    first: int | None = None

    def is_end(self, index: int) -> bool:
        """Return whether this token ends a text."""
        return index == self.end or index in self.ends

    @property
    def filters(self) -> tuple[Filter, ...]:
        """Return the filters that apply to the logits before any strategy's own."""
        return (NotAllowed(self.bad_words),) if self.bad_words else ()

    def labels(self, new_ids: Sequence[int]) -> tuple[str, ...]:
        """Return a name for each token that was read: those of the prompt, then `new_ids`."""
        given = (START,) * self.hidden + tuple(self.names.token(i) for i in self.ids[self.hidden :])
        return given + tuple(self.name(i) for i in new_ids)

    def name(self, index: int) -> str:
        """Return the token as text; END by its name."""
        return END if self.is_end(index) else self.names.token(index)

    def text(self, new_ids: Sequence[int]) -> tuple[str, bytes]:
        """Return all text so far, and the bytes at its end that are no whole character yet."""
        ids = [*self.ids[self.hidden :], *(i for i in new_ids if not self.is_end(i))]
        shown = self.names.decode(ids)
        if not shown.endswith("�"):
            return shown, b""
        last = [_bytes(self.names, i) for i in ids[-4:]]
        pending = unfinished(b"".join(last))
        for n in range(1, len(last) + 1):
            if pending and b"".join(last[-n:]) == pending:
                return self.names.decode(ids[:-n]), pending
        return (shown[:-1] if pending else shown), pending


def continuation(run: Run, ids: Sequence[int]) -> tuple[str, bytes]:
    """Return the text that these tokens add to the text of a run, and the bytes of a character that they leave unfinished.

    The name of a token is not its text: a mark has none, and the bytes of one character may be several tokens.

    >>> import core
    >>> run = core.open_model("gpt-mini").run("Once", keep=[])
    >>> continuation(run, run.model.tokenizer.encode(" é").ids), continuation(run, run.model.tokenizer.encode("é").ids[:1])
    ((' é', b''), ('', b'\\xc3'))
    """
    model, tokenizer = run.model, run.model.tokenizer
    read = run.ids[: run.side.n_real]
    prompt = Prompt(read, tokenizer, model.config.n_ctx, end=tokenizer.end, ends=model.ends)
    before, _ = prompt.text(())
    after, pending = prompt.text(ids)
    return after.removeprefix(before), pending


def prompt_of(m: Model, text: str, prefix: str = "") -> Prompt:
    """Return the prompt of a decoding: a text to continue, or for a model with a source that source and START with the forced `prefix`.

    Raises InputError: an empty source, a prefix without a source, a text that leaves no room to write.
    """
    tokenizer, room = m.tokenizer, m.config.n_ctx
    if not m.spec.has_source:
        encoded = tokenizer.encode(text)
        ids = encoded.ids
        if prefix:
            raise InputError(
                "{name} has no beginning besides its prompt.",
                "A prefix is for models that read a source.",
                "Add it to the text.",
                name=m.name,
            )
        read = tokenizer.with_special(encoded).ids
        _check_room(len(read), room - 1, mark("The prompt"), m.name)
        if ids:
            return Prompt(
                read, tokenizer, room, len(read) - len(ids), tokenizer.end, bad_words=m.bad_words, ends=m.ends
            )
        note = "The prompt is empty: the text begins behind the start token."
        return Prompt(
            (_start(m),), tokenizer, room, 1, tokenizer.end, note=note, bad_words=m.bad_words, ends=m.ends
        )
    if not text.strip():
        raise InputError(
            "There is a beginning but no source." if prefix else "The text is empty.",
            "{name} reads one text and writes another.",
            "Type a text to read.",
            name=m.name,
        )
    read = tokenizer.with_special(m.reader.encode(text), with_end=True)
    _check_room(len(read.ids), room, mark("The source"), m.name)
    begun = tokenizer.with_special(tokenizer.encode(prefix)).ids if prefix else ()
    first = None if begun else m.first
    if begun and m.first is not None and begun[0] != m.first:
        begun = (m.first, *begun)
    _check_room(1 + len(begun), room - 1, mark("The beginning"), m.name)
    given = (_start(m), *begun)
    special = () if read.values is not None else tuple(i for i, span in enumerate(read.spans) if span is None)
    source = {
        "source": read.ids,
        "source_tokens": read.tokens,
        "source_special_positions": special,
        "values": read.values,
    }
    return Prompt(
        given, tokenizer, room, 1, tokenizer.end, bad_words=m.bad_words, ends=m.ends, first=first, **source
    )


def _start(m: Model) -> int:
    if m.tokenizer.start is None:
        raise InputError(
            "The prompt is empty.",
            "{model} has no start token from which to begin.",
            "Type a word.",
            model=m.name,
        )
    return m.tokenizer.start


def _check_room(n: int, room: int, subject: str, name: str) -> None:
    if n > room:
        raise InputError(
            "{subject} has {n:,} tokens.",
            "{name} reads at most {room:,} here, so that there is room to write.",
            "Shorten it, or choose the part to read.",
            subject=subject,
            n=n,
            name=name,
            room=room,
        )


@dataclass(frozen=True)
class Window:
    """The last part of a prompt that a model can read: `text`, and its number of `tokens`, of `total` in the whole prompt."""

    text: str
    tokens: int
    total: int


def fit_prompt(m: Model, text: str, room: int) -> Window:
    """Return the end of `text`, at most `room` tokens of it, cut where a token starts.

    A short text comes back as it is. Tokens of the cut text are those that it had in the whole one, or fewer.
    """
    encoded = m.reader.encode(text)
    n, room = len(encoded.ids), room - len(m.tokenizer.frame_ids[0])
    first = max(0, n - max(1, room))
    while 0 < first < n:
        span = encoded.spans[first]
        part = "" if span is None else text[span[0] :]
        tokens = len(m.reader.encode(part).ids)
        if part and tokens <= room:
            return Window(part, tokens, n)
        first += max(1, tokens - room)
    return Window(text if first == 0 else "", n if first == 0 else 0, n)


def unfinished(data: bytes) -> bytes:
    """Return the bytes at the end that begin a UTF-8 character without completing it.

    >>> unfinished("año".encode()[:2]), unfinished(b"a"), unfinished(bytes([0x80]))
    (b'\\xc3', b'', b'')
    """
    for n in (1, 2, 3):
        tail = data[-n:]
        if len(tail) == n and _begins(tail):
            return tail
    return b""


def _begins(tail: bytes) -> bool:
    """Return whether `tail` is the incomplete beginning of one UTF-8 character."""
    size = (
        2
        if 0xC2 <= tail[0] <= 0xDF
        else 3
        if 0xE0 <= tail[0] <= 0xEF
        else 4
        if 0xF0 <= tail[0] <= 0xF4
        else 0
    )
    if len(tail) >= size:
        return False
    for second in (0x80, 0x90, 0xA0):  # the ranges of the second byte begin at one of these
        fill = bytes([second, 0x80, 0x80])
        try:
            (tail + (fill[: size - 1] if len(tail) == 1 else fill[1 : 1 + size - len(tail)])).decode()
        except UnicodeDecodeError:
            continue
        return True
    return False


def _bytes(names: Names, index: int) -> bytes:
    """Return the bytes of one token; a token that is no whole text is named by them, ‹C3 A9›."""
    token = names.token(index)
    if token[:1] == "‹" and token[-1:] == "›" and "�" in names.decode([index]):
        return bytes.fromhex(token[1:-1])
    return token.encode("utf-8", "surrogatepass")
