"""Word vectors: how often b - a + c is nearest to the word d, where a is to b as c is to d."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from core.analysis.residual.vectors import analogy_vector, cosine_rank
from core.data.texts import WordPair, read
from core.errors import InputError
from core.maths import cosines
from core.scoring import Metrics, Scoring
from core.scoring.files import reading_errors

QUEEN = ("king", "man", "woman", "queen")


def measure(model: Any, path: Path, limit: int | None = None) -> Metrics:
    """Measure word vectors on `group TAB first TAB second` lines (their first `limit`), a line with the names on top.

    Every two pairs of a group ask one question each way: is second - first + other first nearest to other second? The
    three given words are excluded as answers, as is the custom (with them the answer is mostly one of the three).
    Pairs with an unknown word ask nothing and are counted in `unknown`. `queen_rank` is the rank of *queen* after
    king - man + woman, `queen_rank_of_all` its rank with the three words included; both are left out where the model
    does not know the four. `items` are the questions. Raises InputError for a file without any.
    """
    with reading_errors(path):
        found = list(islice(read(path, WordPair), limit))
    table = model.network.embed["token"].weight.detach().float().cpu().numpy()
    groups: dict[str, list[tuple[int, int]]] = {}
    for row in found:
        first, second = _id(model, row.first), _id(model, row.second)
        if first is not None and second is not None:
            groups.setdefault(row.group, []).append((first, second))
    places = {
        group: [_place(table, question) for question in _questions(some)] for group, some in groups.items()
    }
    every = [place for some in places.values() for place in some]
    if not every:
        raise InputError(
            f"{path.name} has no question for {model.name}.",
            "A question is made of two pairs of one group, with all four words in the model's vocabulary.",
            "Give other pairs.",
        )
    return {
        "items": len(every),
        "unknown": len(found) - sum(map(len, groups.values())),
        "analogy_top1": _share(every, 1),
        "analogy_top5": _share(every, 5),
        "median_rank": float(median(every)),
        **_queen(model, table),
        "top1_by_group": {group: _share(some, 1) for group, some in places.items() if some},
    }


def _questions(pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, int, int]]:
    """Yield (a, b, c, d) for all pairs of word pairs: b - a + c should lead to d."""
    for a, b in pairs:
        yield from ((a, b, c, d) for c, d in pairs if len({a, b, c, d}) == 4)


def _place(table: Any, question: tuple[int, int, int, int]) -> int:
    a, b, c, d = question
    return cosine_rank(table, analogy_vector(table, (b, c), (a,)), d, exclude=(a, b, c))


def _queen(model: Any, table: Any) -> Metrics:
    ids = [_id(model, word) for word in QUEEN]
    if None in ids:
        return {}
    king, man, woman, queen = (index for index in ids if index is not None)
    there = analogy_vector(table, (king, woman), (man,))
    return {
        "queen_rank": float(cosine_rank(table, there, queen, exclude=(king, man, woman))),
        "queen_rank_of_all": float(cosine_rank(table, there, queen)),
        "queen_cosine": float(cosines(table, there)[queen]),
    }


def _share(places: Sequence[int], best: int) -> float:
    return sum(place <= best for place in places) / len(places)


def _id(model: Any, word: str) -> int | None:
    """Return the id of a word that is one known token; else None."""
    ids = model.tokenizer.encode(word).ids
    return ids[0] if len(ids) == 1 and ids[0] not in model.tokenizer.special_tokens.values() else None


SCORING = Scoring(
    kind="table of word vectors",
    families=frozenset({"skipgram"}),
    suffix=".tsv",
    content="'group TAB first TAB second' lines",
    measure=measure,
)
