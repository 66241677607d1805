"""The documents that pages cite, by key: five teaching documents and the papers behind them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from viz.languages import _, mark

OTHERS = mark(" and others")


@dataclass(frozen=True)
class Source:
    """One document: short name for running text, and the line for a list."""

    short: str
    authors: str
    year: int
    title: str
    where: str
    teaching: bool = False

    @property
    def label(self) -> str:
        """Return its short name in the reader's language.

        >>> SOURCES["vaswani2017"].label
        'Vaswani and others, 2017'
        """
        return _(self.short).replace(OTHERS, _(OTHERS))

    def bibtex(self, key: str) -> str:
        """Write the entry of a BibTeX file under `key`.

        >>> print(SOURCES["vaswani2017"].bibtex("vaswani2017"))
        @misc{vaswani2017,
          title = {{Attention Is All You Need}},
          author = {Vaswani and others},
          howpublished = {NeurIPS},
          year = {2017}
        }
        """
        authors = self.authors.replace(" et al.", ", others").replace(", ", " and ")
        return bibtex_entry(key, self.title, author=authors, howpublished=self.where, year=self.year)

    def reference(self) -> str:
        """Write one line of a list of references.

        >>> SOURCES["vaswani2017"].reference()
        'Vaswani et al. (2017). Attention Is All You Need. NeurIPS'
        """
        return f"{self.authors} ({self.year}). {self.title}. {self.where}"


_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_"}
    | {"~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\\": "\\textbackslash{}"}
)


def latex_text(text: str) -> str:
    r"""Return words for LaTeX; braces are left out, because an entry of a BibTeX file is cut at them.

    >>> print(latex_text("50% of {a_b}"))
    50\% of a\_b
    """
    return " ".join(text.replace("{", "").replace("}", "").translate(_LATEX).split())


def bibtex_entry(key: str, title: str, /, **fields: object) -> str:
    """Return an entry of a BibTeX file, its words escaped; whatever is no letter or digit of the key becomes a hyphen."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", key).strip("-") or "model"
    words = {"title": title, **fields}
    escaped = {field: latex_text(str(value)) for field, value in words.items()}
    escaped["title"] = f"{{{escaped['title']}}}"  # keeps its capital letters
    lines = ",\n".join(f"  {field} = {{{value}}}" for field, value in escaped.items())
    return f"@misc{{{name},\n{lines}\n}}"


def _paper(authors: str, year: int, title: str, where: str) -> Source:
    return Source(f"{authors.replace(' et al.', OTHERS)}, {year}", authors, year, title, where)


_LISTED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SOURCES: dict[str, Source] = {
    key: Source(*row, teaching=True) for key, row in _LISTED["teaching"].items()
} | {key: _paper(*row) for key, row in _LISTED["papers"].items()}
