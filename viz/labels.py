"""Text that visitors or tokenizers wrote, made fit to be shown. Three places, three dangers:

- canvas, Altair, `st.text`, tables: take any text literally; use `visible`, for a phrase of several words `phrase`.
- Plotly reads `<b>`, `<br>` and `<a>` in ticks, titles and hovers; use `plotly_label`.
- widget labels (buttons, pills) and `st.markdown` read Markdown, and an image in it is a request; use `literal`, for a sentence of ours `fill`.
  A label that is only read out (`label_visibility="collapsed"`) is said as it is written, backslashes too; use `screen_reader_label`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, SupportsFloat

from core import maths
from viz.languages import _, mark, write_number

SHEET = mark("Exercises to print")
"""The fold and the group of homework with exercises, which the record of a lecture links, too."""
_MARKS = {" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}
_JOINER = re.compile("[\u200c\u200d\U000e0020-\U000e007f]")
"""Characters that join or part letters of a word (Persian), or make one emoji of several (a family, the flag of Wales): unchanged among others."""
_ONLY_JOINERS = re.compile("[\u200c\u200d\ufe00-\ufe0f\U000e0020-\U000e007f]+")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&^=\"'@/])")
_INDEXED = re.compile(
    r"(`[^`]*`|\$[^$]*\$)|(?<![\w\\{^])([A-Za-zα-ω])(?:_(\([\w+−-]+\)|\{[\w+−-]+\}|[A-Za-z0-9]{1,2})(?![\w(])|\^(\([^()]+\)|\{[^{}]+\}|[−-]?(?:\d+(?:\.\d+)?|∞|[a-z](?!\w))))"
)
"""Code and mathematics that is set already; or a letter with an index or a power as one types it, x_i, s_(t-1) or e^2.5."""
_SIGNS = re.compile(r"[\\`*_\[\]<>$~#|{}]+|:(?=\w)|(?<=\w):(?=/)")

SPACES = " \u202f"
"""Spaces that a phrase or a label shows as they are: that between words, and that within numbers (`languages.Language`)."""
_SPACES = re.compile(f"([{SPACES}])")
SHORT, PHRASE = 40, 200
"""Texts up to so many letters are remembered, as pieces or words and as labels: they are asked for again with every rerun."""


def bare_token(token: str) -> str:
    """Return a token as a reader sees it: its leading space left out, any other white space visible.

    >>> bare_token(" car"), bare_token(" ")
    ('car', '·')
    """
    return visible(token[1:] if len(token) > 1 and token.startswith(" ") else token)


def visible(token: str) -> str:
    r"""Return the token with its white space, controls and lone surrogates made visible; an empty token is "∅".

    >>> visible(" cat"), visible("a\nb"), visible(""), visible("\x00"), visible("\ud800"), visible("\u200d")
    ('·cat', 'a↵b', '∅', '␀', '�', 'U+200D')
    """
    if token.isalnum() and token.isascii():
        return token
    return _cached_visible(token) if len(token) <= SHORT else _write_visibly(token)


def _write_visibly(token: str) -> str:
    if _ONLY_JOINERS.fullmatch(token):
        return "".join(f"U+{ord(letter):04X}" for letter in token)
    return "".join(_visible(letter) for letter in token) or "∅"


_cached_visible = lru_cache(4096)(_write_visibly)


def _visible(letter: str) -> str:
    if letter in _MARKS:
        return _MARKS[letter]
    code = ord(letter)
    if code < 32:
        return chr(0x2400 + code)
    kind = unicodedata.category(letter)
    if code == 127 or kind == "Cs":
        return "␡" if code == 127 else "�"
    if kind == "Zs":
        return "␣"
    if kind in ("Cc", "Cf", "Zl", "Zp") and not _JOINER.match(letter):
        return f"U+{code:04X}"
    return letter


def phrase(text: str) -> str:
    """Return a phrase for a chart: as `visible`, but its spaces, and a middle dot between two words, are left as they are.

    >>> phrase("two words"), phrase("q · k <1>"), phrase("a\\nb"), phrase("61\u202f%") == "61\u202f%"
    ('two words', 'q · k <1>', 'a↵b', True)
    """
    parts = _SPACES.split(text)
    return "".join(
        part if place % 2 or not part else visible(part) for place, part in enumerate(parts)
    ) or visible(text)


def plotly_label(text: str) -> str:
    """Return a label that Plotly can never read as markup, white space visible.

    >>> plotly_label("<b>"), plotly_label("a & b"), plotly_label("</w>")
    ('&lt;b&gt;', 'a·&amp;·b', '&lt;/w&gt;')
    """
    return visible(text).translate(_ENTITIES)


def literal(text: str) -> str:
    r"""Return text for a widget's label: every Markdown character escaped, line breaks as marks, spaces left alone.

    >>> literal("![x](http://a) $1$ *so*")
    '\\!\\[x\\]\\(http\\:\\/\\/a\\) \\$1\\$ \\*so\\*'
    """
    return _labelled(text) if len(text) <= PHRASE else _escaped(text)


def fill(markdown: str, **texts: object) -> str:
    r"""Fill Markdown of ours with names, tokens and typed texts, each shown to the character: `{name}` is replaced by a text, `**{name}**` emphasises it.

    >>> fill("**{head}** is nearest of {n}", head="L3.H4 of *my_model*", n=12)
    '**L3\\.H4 of \\*my\\_model\\*** is nearest of 12'
    """
    return markdown.format(**{name: literal(str(text)) for name, text in texts.items()})


def formulas(text: str, is_markdown: bool = False) -> str:
    r"""Return Markdown in which a letter with an index or a power is set as mathematics; the rest is escaped, unless the text `is_markdown`.

    >>> formulas("*s_(t-1)* and s_t"), formulas("**s_(t−1)**, `x_i`", is_markdown=True)
    ('\\*$s_{t-1}$\\* and $s_{t}$', '**$s_{t-1}$**, `x_i`')
    >>> formulas("e^−∞ or e^(s + M), 5^x?")
    '$e^{-\\infty}$ or $e^{s + M}$, 5\\^x?'
    """
    plain_, marks = (lambda words: words) if is_markdown else literal, {"sub": "_", "sup": "^"}
    runs = typeset(text)
    parts = [plain_(words) if not how else "" for words, how in runs]
    for place, (words, how) in enumerate(runs):
        if how in marks:
            small = words.replace("−", "-").replace("∞", r"\infty").replace("√", r"\sqrt ")
            parts[place] = f"${runs[place - 1][0]}{marks[how]}{{{small}}}$"
    return "".join(parts) or plain_(text)


def typeset(text: str) -> list[tuple[str, str]]:
    """Split a text at its letters with an index or a power: each part with "", or the name of its HTML element.

    >>> typeset("e^3.5 = 33")
    [('e', 'i'), ('3.5', 'sup'), (' = 33', '')]
    """
    parts, end = [], 0
    for found in _INDEXED.finditer(text):
        if found[2]:
            parts += [
                (text[end : found.start()], ""),
                (found[2], "i"),
                ((found[3] or found[4]).strip("(){}"), "sub" if found[3] else "sup"),
            ]
            end = found.end()
    return [part for part in (*parts, (text[end:], "")) if part[0]]


def has_index(text: str) -> bool:
    """Return whether there is a letter with a typed index or power in the text."""
    return any(found[2] for found in _INDEXED.finditer(text))


def query_and_key(unit: str = "word", *, across: bool = False) -> tuple[str, str]:
    """Return the names of rows and columns of an attention map, the same on all pages.

    >>> query_and_key(), query_and_key("token", across=True)
    (('word that attends (query)', 'word attended to (key)'), ('written token (query)', 'source token (key)'))
    """
    unit = _(unit)
    if across:
        return _("written {unit} (query)", unit=unit), _("source {unit} (key)", unit=unit)
    return _("{unit} that attends (query)", unit=unit), _("{unit} attended to (key)", unit=unit)


def screen_reader_label(text: str) -> str:
    r"""Return text for a label that is only read out: Markdown characters are removed, nothing is escaped.

    >>> screen_reader_label('What follows “**bold** ![x](http://a)”?'), screen_reader_label("Is 1 : 2 more than √d?")
    ('What follows “ bold ! x (http //a)”?', 'Is 1 : 2 more than √d?')
    """
    return " ".join(
        _SIGNS.sub(" ", "".join(letter if letter in SPACES else _visible(letter) for letter in text)).split()
    )


def _escaped(text: str) -> str:
    lines = "".join(letter if letter in SPACES else _visible(letter) for letter in text)
    return _MARKDOWN.sub(r"\\\1", lines)


_labelled = lru_cache(4096)(_escaped)


def percent(p: SupportsFloat, places: int = 1) -> str:
    """Return a share in per cent, as the visitor's language writes it: about `places` + 1 digits, and never a false 0 or 100.

    >>> percent(0.614), percent(0.0312), percent(0.00004), percent(0.614, 2)
    ('61%', '3.1%', '<0.1%', '61.4%')
    """
    return write_number(maths.percent(p, places))


def changes(a: SupportsFloat, b: SupportsFloat) -> str:
    """Return in words how a probability changed; one that reads the same before and after "stays".

    >>> changes(0.614, 0.31), changes(0.0312, 0.00004), changes(0.6141, 0.6143)
    ('falls from 61% to 31%', 'falls from 3.1% to <0.1%', 'stays at 61%')
    """
    before, after = percent(a), percent(b)
    if before == after:
        return _("stays at {before}", before=before)
    if float(b) < float(a):
        return _("falls from {before} to {after}", before=before, after=after)
    return _("rises from {before} to {after}", before=before, after=after)


def shorten(text: str, limit: int = 48) -> str:
    """Return at most `limit` characters of a text, cut at a word where one ends near.

    >>> shorten("She has a white car.", 12)
    'She has a…'
    """
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    head, _space, tail = cut.rpartition(" ")
    return (head if head and len(tail) < limit // 3 else cut).rstrip() + "…"


def distinct(tokens: Iterable[str]) -> list[str]:
    """Return the visible tokens, repeated ones with a small number: for tables and pickers.

    >>> distinct(["the", "cat", "the"])
    ['the', 'cat', 'the₂']
    """
    seen: dict[str, int] = {}
    names = []
    for token in map(visible, tokens):
        seen[token] = seen.get(token, 0) + 1
        names.append(token if seen[token] == 1 else token + str(seen[token]).translate(_SUBSCRIPTS))
    return names


_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def head_name(layer: int, head: int, kind: str = "") -> str:
    """Return the short name of a head, counted from 0; with its `kind` where several kinds are shown.

    >>> head_name(3, 5), head_name(2, 1, "cross")
    ('L3.H5', 'cross.L2.H1')
    """
    return f"{kind}.L{layer}.H{head}" if kind else f"L{layer}.H{head}"


def list_values(
    values: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
    write: str | Callable[[Any], str] = percent,
    separator: str = ", ",
) -> str:
    """Return names with their numbers, for a sentence; without `write` the numbers are shares.

    >>> list_values({"bank": 0.5, "river": 0.25}), list_values([("n", 1200), ("d", 64)], "{:,}", "; ")
    ('bank 50%, river 25%', 'n 1,200; d 64')
    """
    pairs = values.items() if isinstance(values, Mapping) else values
    to_text = write.format if isinstance(write, str) else write
    return separator.join(f"{name} {to_text(value)}" for name, value in pairs)
