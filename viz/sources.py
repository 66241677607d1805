"""The documents that pages cite, by key: five teaching documents and the papers behind them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """One document: short name for running text, and the line for a list."""

    short: str
    authors: str
    year: int
    title: str
    where: str
    teaching: bool = False

    def reference(self) -> str:
        """Write one line of a list of references.

        >>> SOURCES["vaswani2017"].reference()
        'Vaswani et al. (2017). Attention Is All You Need. NeurIPS'
        """
        return f"{self.authors} ({self.year}). {self.title}. {self.where}"


def _paper(authors: str, year: int, title: str, where: str) -> Source:
    return Source(f"{authors.replace(' et al.', ' and others')}, {year}", authors, year, title, where)


_LISTED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SOURCES: dict[str, Source] = {
    key: Source(*row, teaching=True) for key, row in _LISTED["teaching"].items()
} | {key: _paper(*row) for key, row in _LISTED["papers"].items()}
