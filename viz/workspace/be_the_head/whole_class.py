"""Be the head for a whole class: each student of the lecture room touches a token; the mean of their rows goes into the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.heads.pattern_distance import jensen_shannon
from viz.classroom.ask import MOST_OPTIONS, AnswerFormat, Question
from viz.classroom.room import Room
from viz.labels import distinct, percent, visible
from viz.languages import _, ngettext
from viz.shell.room_bar import lecture
from viz.workspace.be_the_head import data, row
from viz.workspace.be_the_head.data import TOTAL, Game

KEY = "be_the_head.room"


@dataclass(frozen=True)
class Class:
    """The mean row of those who answered, over the keys of the head, and the probability of the word with it in the model."""

    row: np.ndarray
    answered: int
    probability: float


def ask(game: Game, shares: row.Shares, put: bool) -> Class | None:
    """Ask the room of this session, if it leads one; return its answers, once a row was put into the model.

    A student who touches one token gives it a whole row; the mean over the students is a row again.
    """
    if not 1 < len(game.keys) <= MOST_OPTIONS:
        return None
    word = visible(game.word.strip() or game.word)
    question = Question(
        KEY,
        _(
            "You are {head}. The model shall say “{word}” next: which token would you look at? Touch it.",
            head=game.place,
            word=word,
        ),
        AnswerFormat("word", tuple(distinct(visible(name.strip() or name) for name in game.names))),
    )
    place = data.best(game)
    question.truth = truth = [place]
    why = _(
        "{head} itself gives {share} to “{token}”.",
        head=game.place,
        share=percent(game.true_row[place]),
        token=question.form.options[place],
    )

    def reveal(room: Room) -> None:
        room.reveal(truth, why)
        row.store(shares, into=True)

    if put:
        question.explanation = why
    lecture.ask_room(question, guessed=put, reveal=reveal)
    asked = lecture.revealed_answers(question) if put else None
    if asked is None:
        return None
    counts = np.array(question.form.tally(list(asked.answers.values()))["counts"], dtype=float)
    mean = counts / counts.sum()
    return Class(mean, int(counts.sum()), data.played(game, tuple(TOTAL * mean)))


def sentence(game: Game, room: Class) -> str:
    """Return how the class did, beside the head."""
    word = visible(game.word.strip() or game.word)
    bits = float(jensen_shannon(room.row, game.true_row / game.true_row.sum()))
    level = percent(room.probability) == percent(game.true)
    values = {
        "answers": ngettext("{n} answer", "{n} answers", room.answered),
        "word": word,
        "room": percent(room.probability),
        "own": percent(game.true),
        "even": percent(game.even),
        "bits": bits,
    }
    if level:
        return _(
            "With the room's mean row ({answers}) “{word}” has {room}, with the head's own {own}, with a uniform one {even}: the room did as well as the head. Its row is {bits:.2f} bits from the head's (Jensen-Shannon divergence, maximum 1).",
            **values,
        )
    if room.probability > game.true:
        return _(
            "With the room's mean row ({answers}) “{word}” has {room}, with the head's own {own}, with a uniform one {even}: the room did better than the head. Its row is {bits:.2f} bits from the head's (Jensen-Shannon divergence, maximum 1).",
            **values,
        )
    return _(
        "With the room's mean row ({answers}) “{word}” has {room}, with the head's own {own}, with a uniform one {even}: the room did worse than the head. Its row is {bits:.2f} bits from the head's (Jensen-Shannon divergence, maximum 1).",
        **values,
    )
