"""Documents with a class label: read from a file, encoded sentence by sentence, padded to a batch. For training and measuring."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.data.corpora import read_lines
from core.errors import InputError
from core.text import Tokenizer

Sentences = Sequence[np.ndarray]
"""The ids of each sentence of one document."""


@dataclass(frozen=True)
class Document:
    """A document: its class label, its sentences, and the book that it is from, "" where that is not recorded."""

    label: str
    sentences: tuple[str, ...]
    book: str = ""


def read_documents(path: Path) -> Iterator[Document]:
    """Yield the documents of a file with one JSON object a line, `label` and `sentences`; `.xz` is unpacked. Raises
    InputError that names a line which is no document.
    """
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield _document(line, number, path.name)


def _document(line: str, number: int, name: str) -> Document:
    try:
        found: Any = json.loads(line)
        label, sentences, book = found["label"], found["sentences"], found.get("book", "")
    except (ValueError, KeyError, TypeError):
        label, sentences, book = None, [], ""
    whole = isinstance(sentences, list) and sentences and all(isinstance(each, str) for each in sentences)
    if not isinstance(label, str) or not whole:
        raise InputError(
            f"Line {number} of {name} is not a document: {line[:60]!r}.",
            'A line is {"label": "..", "sentences": ["..", ..]}.',
            "Mend or delete that line.",
        )
    return Document(label, tuple(sentences), str(book))


def encode_sentences(documents: Iterable[Document], tokenizer: Tokenizer) -> list[list[np.ndarray]]:
    """Return the token ids of each sentence of each document, one int64 array a sentence; sentences without a token are left out."""
    found = []
    for document in documents:
        ids = tokenizer.encode_many(document.sentences)
        found.append([np.array(each, dtype=np.int64) for each in ids if each])
    return found


def pad_documents(
    documents: Sequence[Sentences], pad: int, n_ctx: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pad documents to one length and return (ids, sentence numbers, mask), each (document, pos); the mask is True at real tokens.

    The tokens of a document's sentences are joined and cut to `n_ctx`; a sentence number counts the document's sentences from 0.

    >>> pad_documents([[np.array([5, 6]), np.array([7])], [np.array([8])]], pad=0, n_ctx=9)[1].tolist()
    [[0, 0, 1], [0, 0, 0]]
    """
    longest = min(n_ctx, max(sum(map(len, sentences)) for sentences in documents))
    ids = np.full((len(documents), longest), pad, dtype=np.int64)
    numbers, real = np.zeros_like(ids), np.zeros(ids.shape, dtype=bool)
    for row, sentences in enumerate(documents):
        tokens = np.concatenate(sentences)[:longest]
        of = np.repeat(np.arange(len(sentences)), [len(each) for each in sentences])[:longest]
        ids[row, : len(tokens)], numbers[row, : len(tokens)], real[row, : len(tokens)] = tokens, of, True
    return ids, numbers, real
