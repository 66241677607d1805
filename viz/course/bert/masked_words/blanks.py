"""Steps of the exhibit on masked words about one blank: what stands there, what each side knows, and from the left alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.checkpoints.record import trained
from core.model import Model
from core.serving.engine import default
from core.training.recipes import bert_mini
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.charts.revealed import revealed
from viz.course.bert.charts.token_rows import Row, token_rows
from viz.course.bert.masked_words import maths as hidden_words
from viz.course.bert.masked_words.maths import CONTEXTS, Said, Text
from viz.course.shared.shown import Shown
from viz.labels import distinct, percent, visible
from viz.shell import room
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG = "masked_words."
MODEL, WRITER = "bert-mini", "gpt-mini"
MASK = "[MASK]"
LATER = pd.DataFrame({"": ["Guess first: then the numbers are here."]})
WHO = ("bert-mini, from both sides", "gpt-mini, from the left", "both equally often")
TRY = (
    "**Try.** Hide *the*, then *went*: small words are easy, the model knows the grammar better than the story.",
    "**Try.** Draw again until a word is left as it is: the model must say it too, and cannot tell that it was chosen.",
    "**Try.** Put all to [MASK]: then the model never has to look at a word that it can see.",
    "**Try.** Hide the first word: the left side is empty. Hide the full stop: the left side is all there is.",
    "**Try.** Look at the first word: gpt-mini has read nothing there.",
    "**Try.** Half the length of the sequences: how many epochs are left?",
)
ASIDE = "bert-mini and gpt-mini learned from the same books, but they are two models with two trainings."


def askable(text: Text) -> list[int]:
    """The places of the words that are one piece each: of those one blank has the whole answer."""
    return [places[0] for _, places, _ in text.words if len(places) == 1]


def place_of(params: Any, text: Text) -> int:
    """The place of the word that is hidden; of a sentence without such a word the first piece."""
    places = askable(text) or [1]
    return places[min(params.word, len(places) - 1)]


def pick_word(params: Any, text: Text) -> None:
    """Pills with the words that can be hidden."""
    places = askable(text) or [1]
    names = distinct([text.tokens[place] for place in places])
    controls.pills("Hidden word", range(len(places)), SLUG + "word", min(params.word, len(places) - 1), lambda at: names[at])


def guess(model: Model, text: Text, params: Any) -> Said:
    """What the model says at the blank."""
    return hidden_words.in_turn(model, text, [place_of(params, text)])[0]


def lines(params: Any, place: int) -> str:
    """The first lines of Python of every step."""
    return (f"import core\nfrom viz.course.bert.masked_words import maths as hidden_words\n\nmodel = core.open_model({MODEL!r})\n"
            f"text, place = hidden_words.read(model, {params.text!r}, 30), {place}\n")  # fmt: skip


def with_blank(text: Text, place: int) -> list[str]:
    """The tokens with one of them hidden."""
    return [MASK if at == place else token for at, token in enumerate(text.tokens)]


def blank(params: Any, text: Text) -> Shown:
    """The sentence with its blank, and what the model says there; covered until one guessed."""
    place = place_of(params, text)
    found = ask.submit(("masked_words.blank", params.text, place), lambda: guess(default().open(MODEL), text, params), 60 * len(params.text))
    truth = text.tokens[place]
    names = [visible(word) for word, _ in found.best]
    told = lesson.predict(
        SLUG + "blank", f"One word is hidden: {' '.join(visible(t) for t in with_blank(text, place)[1:-1])} Which word is most probable there for bert-mini?",
        dict(sorted(({visible(truth): found.wanted} | {name: chance for name, (_, chance) in zip(names, found.best, strict=True)}).items())), names[0], f"{names[0]} {percent(found.best[0][1])}; the sentence has “{visible(truth)}”, which gets {percent(found.wanted)}.",
    )  # fmt: skip
    parts.show(token_rows([Row("reads", with_blank(text, place), [0 if at == place else None for at in range(len(text.tokens))])], across=6, high=26),
               SLUG + "reads", "The sentence with one word hidden.")  # fmt: skip
    more = [] if visible(truth) in names else [(visible(truth), found.wanted if told else None, True)]
    rows = [(name, chance if told else None, name == visible(truth)) for name, (_, chance) in zip(names, found.best, strict=True)]
    parts.show(revealed((rows if told else sorted((name, None, False) for name, _, _ in [*rows, *more])) + (more if told else [])), SLUG + "said",
               "Probabilities at the blank" + (": " + ", ".join(f"{name} {percent(chance)}" for name, (_, chance) in zip(names, found.best, strict=True)) + "." if told else ", covered until you guessed."))  # fmt: skip
    bits = -math.log2(max(found.wanted, 1e-300))
    parts.numbers(f"“{visible(truth)}” was hidden and gets {percent(found.wanted)}: surprisal {bits:.2f} bits. By chance (baseline), each of {len(default().open(MODEL).tokenizer):,} tokens would get {percent(1 / len(default().open(MODEL).tokenizer), 3)}."
                  if told else "Guess, and the probabilities come. The strong bar will be the hidden word.")  # fmt: skip
    pick_word(params, text)
    return Shown(
        {"bert.masked": {}, "output.softmax": {}}, (rf"L = -\log P = {-math.log(max(found.wanted, 1e-300)):.4f} \text{{ nats}}",) if told else (),
        "One token of the sentence is replaced by [MASK]; the bars are the softmax over all tokens at that position. The strong bar is the word that stood there. Words of several tokens are not offered here.",
        lambda: pd.DataFrame(found.best, columns=["token", "probability"]) if told else LATER,
        {"probability": np.array([chance for _, chance in found.best])} if told else {},
        lines(params, place) + "print(hidden_words.in_turn(model, text, [place]))",
    )  # fmt: skip


def sides(params: Any, text: Text) -> Shown:
    """What is read with one side, both or neither in sight, and what the hidden word gets each time."""
    place = place_of(params, text)
    rows, found = ask.submit(("masked_words.sides", params.text, place), lambda: hidden_words.contexts(default().open(MODEL), text, place), 240 * len(params.text))
    wanted = np.array([found[name].wanted for name in CONTEXTS])
    best = CONTEXTS[int(wanted.argmax())]
    truth, mask = visible(text.tokens[place]), default().open(MODEL).tokenizer.mask
    told = lesson.predict(SLUG + "sides", f"“{truth}” is hidden. With which words in sight does it get the highest probability?", dict(zip(CONTEXTS, wanted.tolist(), strict=True)), best,
                          "; ".join(f"{name}: {percent(chance, 2)}" for name, chance in zip(CONTEXTS, wanted, strict=True)) + ".")  # fmt: skip
    said = {name: f"{visible(found[name].best[0][0])}:{percent(found[name].best[0][1])}" if told else "?" for name in CONTEXTS}
    table = [Row(name, [said[name] if at == place else MASK if index == mask else token for at, (index, token) in enumerate(zip(row, text.tokens, strict=True))],
                 [1 if at == place else 0 if index == mask else None for at, index in enumerate(row)]) for name, row in zip(CONTEXTS, rows, strict=True)]  # fmt: skip
    with room.wide():
        left, right = st.columns([1, 2], gap="medium")
    with left:
        parts.show(bar_lanes([Lane(f"P({truth}), percent", 100 * wanted if told else None, 0, (0, max(1.0, 115 * float(wanted.max()))), places=2)],
                             labels=[name.split()[0] for name in CONTEXTS], height=270), SLUG + "sides", f"The probability of {truth} with neither side, the left, the right, and both in sight" + (f": highest with {best}." if told else "; covered."))  # fmt: skip
    with right:
        parts.show(token_rows(table, across=6, high=22 if lesson.presenting() else 28), SLUG + "rows", "What is read in each of the four cases; the blank holds the best guess.")
    parts.numbers(", ".join(f"{name} {percent(chance, 2)}" for name, chance in zip(CONTEXTS, wanted, strict=True)) + f": what “{truth}” gets." if told else "Four times the same blank, with more or less of the sentence in sight.")
    pick_word(params, text)
    return Shown(
        {"bert.masked": {}}, tuple(rf"P_{{\text{{{name}}}}} = {chance:.6f}" for name, chance in zip(CONTEXTS, wanted, strict=True)) if told else (),
        f"A side that may not be seen is hidden word by word behind [MASK], [CLS] and [SEP] stay: so the model still knows how many words stand there. So much was never hidden in training ({percent(bert_mini.mix(trained(MODEL).steps).share)} to {percent(bert_mini.HIDDEN)}), "
        "which makes one side look somewhat worse than a model would be that learned from one side. Orange is the blank with its best guess.",
        lambda: pd.DataFrame({"context": CONTEXTS, "P": wanted, "best guess": [found[name].best[0][0] for name in CONTEXTS]}) if told else LATER,
        {"P": wanted} if told else {}, lines(params, place) + "rows, found = hidden_words.contexts(model, text, place)\nfor name, said in found.items():\n    print(name, said.wanted, said.best[0])",
    )  # fmt: skip


def both_or_left(params: Any, text: Text) -> Shown:
    """Each word hidden in turn: its probability for the model that sees both sides, and for the one that reads from the left."""
    places = askable(text)

    def computed() -> tuple[Any, Any]:
        return hidden_words.in_turn(default().open(MODEL), text, places), hidden_words.from_the_left(default().open(WRITER), text, places)

    bert, gpt = ask.submit(("masked_words.both", params.text), computed, 200 * len(params.text))
    two = np.array([said.wanted for said in bert]), np.array([chance for chance, _ in gpt])
    known = ~np.isnan(two[1])
    wins = int((two[0] > two[1])[known].sum()), int((two[1] > two[0])[known].sum())
    answer = WHO[0] if wins[0] > wins[1] else WHO[1] if wins[1] > wins[0] else WHO[2]
    told = lesson.predict(SLUG + "who", f"Each of {len(places)} words is hidden in turn. Which model holds the true word more probable, more often?", dict(zip(WHO, (*wins, 0), strict=True)), answer,
                          f"At {wins[0]} words the one with both sides, at {wins[1]} the one with the left alone.")  # fmt: skip
    names = distinct([text.tokens[place] for place in places]) or ["–"]
    values = [100 * np.nan_to_num(row) if len(places) else np.zeros(1) for row in two]
    place = place_of(params, text)
    mine = frozenset([places.index(place)]) if place in places else None
    lanes = [Lane(name, row if told else None, hue, (0, 108), marked=mine, places=1) for name, row, hue in zip(("bert-mini, both sides: P of the true word, %", "gpt-mini sees the left side only"), values, (0, 1), strict=True)]
    parts.show(bar_lanes(lanes, labels=names, height=380 if lesson.presenting() else 420), SLUG + "both", "The probability of each true word from both sides and from the left" + (f"; both sides win at {wins[0]} words, the left at {wins[1]}." if told else "; covered."))
    at = places.index(place) if place in places else 0
    parts.numbers(
        f"“{names[at]}”: {values[0][at]:.1f} % from both sides, {values[1][at]:.1f} % from the left. Both sides win at {wins[0]} of {int(known.sum())} words, the left at {wins[1]}; on average {values[0].mean():.1f} % and {values[1].mean():.1f} %."
        if told else f"{len(places)} words, each hidden once. The chosen one is drawn strongly."
    )  # fmt: skip
    pick_word(params, text)
    return Shown(
        {"bert.masked": {}, "masked.mask": {}}, (rf"\text{{mean: both sides }} {values[0].mean() / 100:.4f}, \quad \text{{left }} {values[1].mean() / 100:.4f}",) if told else (),
        f"The upper bar is the probability at a [MASK] with all other words in sight; the lower one that of the word as the next one behind those before it. {ASIDE} A plain language model with both sides in sight would "
        "see the very word that it should say: so BERT hides it, and GPT hides all that follows.",
        lambda: pd.DataFrame({"bert-mini": two[0], "gpt-mini": two[1], "gpt-mini's own": [own for _, (own, _) in gpt]}, index=names[: len(places)]) if told else LATER,
        {"both": two[0], "left": two[1]} if told else {},
        lines(params, place) + f"places = {places!r}\nprint([said.wanted for said in hidden_words.in_turn(model, text, places)])\nprint(hidden_words.from_the_left(core.open_model({WRITER!r}), text, places))",
    )  # fmt: skip
