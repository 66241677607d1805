"""Tasks put as text: the rows of GPT-1's fine-tuning, the prompts of GPT-2, and how probable each answer is.

Nothing here claims that a small model can answer: it says how probable the right answer is beside wrong ones.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter

import numpy as np

from core.analysis.forcing import continuation_logits, decoding_prompt, target_ids
from core.data.tasks import PROMPT_LETTERS, PROMPTS, question, sample_strings
from core.errors import InputError
from core.model import Model
from core.scoring.prompts import correct_answers

START, DELIM, EXTRACT = "[Start]", "[Delim]", "[Extract]"
MARKS = (START, DELIM, EXTRACT)
Cites = tuple[str, ...]

# ------------------------------------------------------------------------------------------------ rows of a task


@dataclass(frozen=True)
class Form:
    """Layout of a task's texts in rows: names of texts between marks. `head` describes the use of [Extract].

    A row that names `answer` comes once for each answer.
    """

    name: str
    title: str
    layout: tuple[tuple[str, ...], ...]
    head: str
    cites: Cites = ("radford2018", "beigy2024")

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of the texts in the order of reading; `answer` is a placeholder for several."""
        return tuple(dict.fromkeys(part for row in self.layout for part in row if part not in MARKS))


_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
FORMS: Mapping[str, Form] = {
    name: Form(name, form["title"], tuple(map(tuple, form["layout"])), form["head"])
    for name, form in _DATA["forms"].items()
}
"""The input transformations of Radford et al. 2018, figure 1."""


@dataclass(frozen=True)
class Row:
    """The tokens of one row, marks among them; `marks` are their places, `extract` the place that the head reads."""

    tokens: tuple[str, ...]
    marks: tuple[int, ...]

    @property
    def extract(self) -> int:
        return self.marks[-1]


def rows(model: Model, form: Form, texts: Mapping[str, str], answers: Sequence[str] = ()) -> tuple[Row, ...]:
    """Build the rows of a task in the tokens of a model: 1, 2 for similarity, one for each answer of a multiple choice.

    The marks are tokens that fine-tuning adds; none of our models has them, so a row is a picture, not an input.
    Raises InputError for a text that is missing or empty, and for a choice of fewer than two answers.

    >>> import core
    >>> tiny = core.open_model("prompt-tiny")
    >>> [row.tokens for row in rows(tiny, FORMS["similarity"], {"first": "ab", "second": "c"})][1]
    ('[Start]', 'c', '[Delim]', 'a', 'b', '[Extract]')
    """
    choosing = "answer" in form.fields
    if choosing and len(answers) < 2:
        raise InputError(
            f"There are {len(answers)} answers.", "One of several is chosen.", "Give two or more."
        )
    given = [{**texts, "answer": answer} for answer in answers] if choosing else [dict(texts)]
    return tuple(
        _row(model, [part if part in MARKS else (_text(each, part),) for part in layout])
        for each in given
        for layout in form.layout
    )


def _text(texts: Mapping[str, str], name: str) -> str:
    text = texts.get(name, "")
    if not text.strip():
        raise InputError(
            f"The {name} is missing.", "Every text of a task needs at least one word.", f"Type the {name}."
        )
    return text


def _row(model: Model, parts: Sequence[str | tuple[str]]) -> Row:
    tokens: list[str] = []
    marks: list[int] = []
    for part in parts:
        if isinstance(part, str):
            marks.append(len(tokens))
            tokens.append(part)
        else:
            tokens += model.tokenizer.encode(part[0]).tokens
    return Row(tuple(tokens), tuple(marks))


# ------------------------------------------------------------------------------------------------ prompts


@dataclass(frozen=True)
class Template:
    """A task as plain text that a model goes on with: p(output | input, task) (Radford et al. 2019, section 2)."""

    name: str
    title: str
    text: str
    says: str
    cites: Cites = ("radford2019", "beigy2024")

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of the texts in order."""
        return tuple(name for _, name, _, _ in Formatter().parse(self.text) if name)

    def filled(self, texts: Mapping[str, str]) -> str:
        """Fill in the template to a prompt. Raises InputError for a text that is missing or empty."""
        return self.text.format(**{name: _text(texts, name) for name in self.fields})


TEMPLATES: Mapping[str, Template] = {
    name: Template(name, **words) for name, words in _DATA["templates"].items()
}
"""Zero-shot tasks of the GPT-2 paper, done without training for them; a model of this size need not succeed."""


@dataclass(frozen=True)
class Question:
    """Task of one template with its texts, the candidate answers, and the index of the right one."""

    template: str
    texts: Mapping[str, str] = field(hash=False)
    candidates: tuple[str, ...]
    right: int = 0

    @property
    def prompt(self) -> str:
        return TEMPLATES[self.template].filled(self.texts)


QUESTIONS = tuple(
    Question(task["template"], task["texts"], tuple(task["candidates"])) for task in _DATA["asked"]
)
"""Tasks of our own, the right answer first."""


@dataclass(frozen=True)
class Answer:
    """One candidate behind a prompt.

    `logprob` is ln p of its tokens one after the other, `mean` the same a token (long answers are less probable),
    `share` its probability if one of the candidates must be it, `place` its rank among them (1 is the best), and
    `rank` that of its first token in the whole vocabulary. Equals share the better rank.
    """

    text: str
    tokens: tuple[str, ...]
    logprobs: tuple[float, ...]
    share: float
    place: int
    rank: int

    @property
    def logprob(self) -> float:
        return math.fsum(self.logprobs)

    @property
    def mean(self) -> float:
        return self.logprob / len(self.logprobs)


def answers(model: Model, prompt: str, candidates: Sequence[str]) -> list[Answer]:
    """Score each candidate as the continuation of the prompt, in the given order, in one padded pass.

        ln p(c | prompt) = sum_t ln P(c_t | prompt, c_1 .. c_{t-1})        share(c) = p(c) / sum of p over candidates

    What comes behind a candidate is not asked, so one that another begins with has at least its probability. A
    candidate is taken as typed: after a word it begins with its space, as the tokens of a text do.
    Raises InputError: no candidate, one that is empty or comes twice, more tokens than the model reads.

    >>> import core
    >>> found = answers(core.open_model("prompt-tiny"), "reverse: abc =", ["cba", "abc"])
    >>> [(each.text, round(each.share, 2), each.place) for each in found]
    [('cba', 1.0, 1), ('abc', 0.0, 2)]
    """
    if not candidates:
        raise InputError(
            "There is no candidate.", "Answers are compared with each other.", "Give one or more."
        )
    start = decoding_prompt(model, prompt)
    ids = [target_ids(model, start, candidate) for candidate in candidates]
    if len(set(ids)) < len(ids):
        raise InputError("A candidate appears twice.", "Each stands for another answer.", "Leave one out.")
    scored = [
        scores.log_softmax(-1) for scores in continuation_logits(model, start, [row[:-1] for row in ids])
    ]
    logprobs = [
        tuple(float(log_p[t, index]) for t, index in enumerate(row))
        for log_p, row in zip(scored, ids, strict=True)
    ]
    totals = np.array([math.fsum(each) for each in logprobs])
    powers = np.exp(totals - totals.max())
    return [
        Answer(
            text,
            tuple(start.name(index) for index in row),
            logprobs[number],
            float(powers[number] / powers.sum()),
            1 + int((totals > totals[number]).sum()),
            1 + int((scored[number][0] > scored[number][0, row[0]]).sum()),
        )
        for number, (text, row) in enumerate(zip(candidates, ids, strict=True))
    ]


# ------------------------------------------------------------------------------------------------ the prompt chooses


@dataclass(frozen=True)
class Toy:
    """A task of prompt-tiny: its prompt word, and one string asked and answered."""

    task: str
    prompt: str
    answer: str


def toy_prompts(text: str = "hello") -> tuple[Toy, ...]:
    """Return one string under each prompt word, with the expected answer. Raises InputError for other characters than letters.

    >>> [(toy.prompt, toy.answer) for toy in toy_prompts("abc")]
    [('copy: abc =', 'abc'), ('reverse: abc =', 'cba'), ('upper: abc =', 'ABC')]
    """
    if not text or not set(text) <= set(PROMPT_LETTERS):
        raise InputError(
            f"{text!r} is not a string of letters.",
            "These tasks are about the letters a to z and A to Z.",
            "Type letters only.",
        )
    return tuple(Toy(task, question(task, text), make(text)) for task, make in PROMPTS.items())


def solved(model: Model, n: int = 20, length: int = 6, seed: int = 0) -> dict[str, float]:
    """Return the share of held-out strings of one length that the model answers entirely right, by prompt word.

    The strings are drawn once and asked about under each word: the weights and the strings are the same, the word alone
    chooses what is done. Right means every letter and the end, written greedily.
    Raises InputError for a number or length below 1, or more than the model reads.
    """
    most = (model.config.n_ctx - 4) // 2
    if n < 1 or not 1 <= length <= most:
        raise InputError(
            f"{n} strings of {length} letters are asked for.",
            f"There are 1 or more, of 1 to {most} letters.",
            "Choose 20 of 6.",
        )
    drawn = sample_strings(n, np.random.default_rng(seed), PROMPT_LETTERS, length, "test")
    return {
        task: float(np.mean(correct_answers(model, [(question(task, text), make(text)) for text in drawn])))
        for task, make in PROMPTS.items()
    }
