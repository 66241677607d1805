"""Tasks that a GPT is tuned to: labelled texts of our grammar for each of the four input layouts, as batches of rows of tokens, and the two terms of their loss."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import tokenizers
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data import gpt_inputs, grammar, lexicon
from core.data.gpt_inputs import CHOICE, CLASSIFICATION, ENTAILMENT, SIMILARITY, SPECIAL_TOKENS
from core.data.grammar import Split
from core.models import Batch
from core.text import Tokenizer
from core.training.finetune import finetune_tasks

FOLLOWS = ("entailment", "contradiction")
SAME = ("same opinion", "another opinion")
ANSWERS = 4
OTHER = {"good": "bad", "bad": "good"}


class LabelledTexts(NamedTuple):
    """Texts of one example, and the number of its class or of its right answer."""

    texts: tuple[str, ...]
    target: int


@dataclass(frozen=True)
class GPTGoal:
    """Task: its layout (a key of `gpt_inputs.TASKS`), its question, the names of its classes (of a choice none), its labelled texts."""

    layout: str
    says: str
    labels: tuple[str, ...]
    draw: Callable[[int, int, Split], list[LabelledTexts]]

    @property
    def n_outputs(self) -> int:
        """Return the columns of W_y: one for each class; of a choice one number for each row."""
        return len(self.labels) or 1


def find_thing(text: str) -> str:
    """Return the thing that a sentence of the grammar has an opinion about; "" where there is none.

    >>> find_thing("My uncle's soup was good.")
    'soup'
    """
    return next((word for word in re.findall(r"\w+", text.lower()) if word in _KINDS), "")


def find_kind(text: str) -> str:
    """Return the kind of thing that a sentence is about: "food", "tale", "place" or "person".

    >>> find_kind("My uncle's soup was good.")
    'food'
    """
    return _KINDS.get(find_thing(text), "food")


_KINDS = {noun: kind for kind, (one, many, *_) in lexicon.CLASSES.items() for noun in f"{one} {many}".split()}


def _opinion_words(kind: str, label: str) -> list[str]:
    """Return the words for a good, or a bad, thing of this kind."""
    words: dict[str, str] = dict(zip(grammar.OPINIONS, lexicon.CLASSES[kind][3:], strict=True))
    return words[label].split()


def _opinions(n: int, seed: int, split: Split) -> list[LabelledTexts]:
    return [
        LabelledTexts((item.text,), grammar.OPINIONS.index(item.label))
        for item in finetune_tasks.sample_opinions(n, seed, split)
    ]


def _sample_entailments(n: int, seed: int, split: Split) -> list[LabelledTexts]:
    """Return pairs of an opinion and a short one about the same thing, of the same mind (0) or not (1)."""
    rng, made = random.Random(seed), list[LabelledTexts]()
    for item in finetune_tasks.sample_opinions(n, seed, split):
        wanted = rng.randrange(len(FOLLOWS))
        made.append(
            LabelledTexts(
                (
                    item.text,
                    _short_opinion(
                        find_kind(item.text),
                        find_thing(item.text),
                        OTHER[item.label] if wanted else item.label,
                        rng,
                    ),
                ),
                wanted,
            )
        )
    return made


def _sample_similarities(n: int, seed: int, split: Split) -> list[LabelledTexts]:
    """Return pairs of opinions about any two things, the second a short one: of the same mind (0) or not (1)."""
    rng, made = random.Random(seed), list[LabelledTexts]()
    for item in finetune_tasks.sample_opinions(n, seed, split):
        wanted, kind = rng.randrange(len(SAME)), rng.choice(sorted(lexicon.CLASSES))
        thing = rng.choice(" ".join(lexicon.CLASSES[kind][:2]).split())
        made.append(
            LabelledTexts(
                (item.text, _short_opinion(kind, thing, OTHER[item.label] if wanted else item.label, rng)),
                wanted,
            )
        )
    return made


def _short_opinion(kind: str, thing: str, label: str, rng: random.Random) -> str:
    return f"The {thing} {'were' if thing in lexicon.CLASSES[kind][1].split() else 'was'} {rng.choice(_opinion_words(kind, label))}."


def _sample_choices(n: int, seed: int, split: Split) -> list[LabelledTexts]:
    """Return opinions with four words each, of which one has the same sense."""
    rng, made = random.Random(seed), list[LabelledTexts]()
    for item in finetune_tasks.sample_opinions(n, seed, split):
        kind = find_kind(item.text)
        right = rng.choice(_opinion_words(kind, item.label))
        answers = [right, *rng.sample(_opinion_words(kind, OTHER[item.label]), ANSWERS - 1)]
        rng.shuffle(answers)
        made.append(LabelledTexts((item.text, *(f" {answer}" for answer in answers)), answers.index(right)))
    return made


GOALS: Mapping[str, GPTGoal] = MappingProxyType(
    {
        goal.layout: goal
        for goal in (
            GPTGoal(CLASSIFICATION, "Is the opinion good or bad?", grammar.OPINIONS, _opinions),
            GPTGoal(
                ENTAILMENT,
                "Does the hypothesis follow from the premise, or contradict it?",
                FOLLOWS,
                _sample_entailments,
            ),
            GPTGoal(SIMILARITY, "Do both sentences have the same opinion?", SAME, _sample_similarities),
            GPTGoal(CHOICE, "Which of the answers says the same as the sentence?", (), _sample_choices),
        )
    }
)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of tokens in one padded batch, `rows_per_text` for each text; `last` is the position of Extract (row,), `is_text` marks tokens of the texts
    (row pos), `targets` has a number for each text (text,).
    """

    batch: Batch
    rows_per_text: int
    last: Tensor
    is_text: Tensor
    targets: Tensor


def add_special_tokens(tokenizer: Tokenizer) -> Tokenizer:
    """Return a copy of the tokenizer with the three `SPECIAL_TOKENS` of the tasks after all other tokens."""
    backend = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    backend.add_special_tokens([f"[{mark}]" for mark in SPECIAL_TOKENS])
    return Tokenizer(backend, start=tokenizer.start, end=tokenizer.end, pad=tokenizer.pad)


def encode_rows(
    tokenizer: Tokenizer, layout: str, texts: Sequence[str], special_tokens: tuple[int, int, int]
) -> tuple[tuple[int, ...], ...]:
    """Return the ids of the rows of one example."""
    return gpt_inputs.input_rows(layout, [tokenizer.encode(text).ids for text in texts], special_tokens)


def collate(
    examples: Sequence[tuple[Sequence[Sequence[int]], int]], special_tokens: tuple[int, int, int]
) -> Rows:
    """Return examples, each its rows of ids and its target, as one batch, padded at the end with the first of `special_tokens`."""
    rows = [row for made, _ in examples for row in made]
    longest = max(map(len, rows))
    ids = np.full((len(rows), longest), special_tokens[0], dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
    sizes = np.array([len(row) for row in rows])
    real = np.arange(longest) < sizes[:, None]
    id_tensor = torch.from_numpy(ids)
    is_text = torch.from_numpy(real & ~np.isin(ids, special_tokens))
    return Rows(
        Batch(ids=id_tensor, real=torch.from_numpy(real)),
        len(examples[0][0]),
        torch.from_numpy(sizes - 1),
        is_text,
        torch.tensor([wanted for _, wanted in examples]),
    )


@dataclass(frozen=True, eq=False)
class Terms:
    """Scores of the classes or answers of each text (text class), minus L_2 (text,) in nats, and minus L_1 of its rows as a mean over tokens."""

    scores: Tensor
    l_2: Tensor
    l_1: Tensor | None


def terms(network: Any, task: str, rows: Rows, *, text: bool) -> Terms:
    """Return both terms of a batch; without `text` the term of the text is not computed."""
    hidden = network(rows.batch)
    vectors = hidden[torch.arange(len(rows.last)), rows.last]
    if task == SIMILARITY:
        vectors = vectors.view(-1, rows.rows_per_text, vectors.shape[-1]).sum(1)
    scores = network.to_classes(vectors)
    if task == CHOICE:
        scores = scores.view(-1, rows.rows_per_text)
    l_2 = F.cross_entropy(scores, rows.targets, reduction="none")
    if not text:
        return Terms(scores, l_2, None)
    asked = rows.is_text[:, 1:]
    return Terms(
        scores, l_2, F.cross_entropy(network.logits(hidden[:, :-1][asked]), rows.batch.ids[:, 1:][asked])
    )
