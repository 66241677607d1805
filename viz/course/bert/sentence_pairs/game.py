"""Steps of the exhibit on sentence pairs about the game: one pair, pairs by lot, and how well bert-mini plays."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.checkpoints.manifest import shipped_folder
from core.checkpoints.record import trained
from core.checkpoints.scores import Score, read_scores
from core.run import Run
from core.serving.engine import default
from viz.course.bert.charts import sentence_pairs as figures
from viz.course.bert.sentence_pairs.maths import next_pairs, next_sentence
from viz.course.shared.shown import Shown
from viz.labels import literal, percent, shorten
from viz.shell import state
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG = "sentence_pairs."
MODEL, MEASURE = "bert-mini", "next_sentence_accuracy"
MARKS = ("[CLS]", "[SEP]")
START, MOST, SOME = 3, 500, 50
HALF = 0.5
SAYS = ("It follows", "It is not the next sentence")
LATER = pd.DataFrame({"": ["Guess first: then the numbers are here."]})
EXAMPLES = (
    ("A lost dog was sitting in the rain outside the inn.", "The landlord felt sorry for it and opened the door.", True),
    ("The puppy had stolen one of Father's slippers.", "The landlord felt sorry for it and opened the door.", False),
    ("The baker had sold his last loaf before noon.", "So he closed the shop early and went home.", True),
    ("The baker had sold his last loaf before noon.", "Then she put the dough near the stove to rise.", False),
)
TRY = (
    "**Try.** The same text B behind another A: take the second example. Then type a B that has nothing to do with A.",
    "**Try.** Take fifty more at once: the counts stay inside the bands.",
    "**Try.** Move the threshold: where is bert-mini right most often? And can you tell beforehand where that will be?",
    "**Try.** Choose a head in which nearly everything goes to [SEP]: an attention sink.",
    "**Try.** Turn the true answer round: one part stays as it is.",
    "**Try.** Type the same sentence twice: then only the segment and position embeddings differ.",
)


def truth_of(params: Any) -> bool | None:
    """Whether B follows, where the pair is one of ours."""
    return next((row.follows for row in next_pairs.judged() if (row.first, row.second) == (params.a, params.b)), None)


def lines(params: Any) -> str:
    """The first lines of Python of the steps about one pair."""
    return f"import core\nfrom viz.course.bert.sentence_pairs.maths import next_sentence\n\nmodel = core.open_model({MODEL!r})\na, b = {params.a!r}, {params.b!r}\n"


def examples(params: Any) -> None:
    """Ready-made pairs as pills; the lit one is what both boxes hold."""
    names = {f"{shorten(a, 26)} / {shorten(b, 26)}": (a, b, follows) for a, b, follows in EXAMPLES}
    key = SLUG + "ready"
    lit = state.held(key, next((name for name, (a, b, _) in names.items() if (a, b) == (params.a, params.b)), None))

    def take() -> None:
        taken = names.get(st.session_state.get(key) or "")
        if taken:
            state.write(**{SLUG + "a": taken[0], SLUG + "b": taken[1], SLUG + "follows": taken[2]})

    st.pills("Examples", list(names), format_func=literal, key=key, default=lit, on_change=take, label_visibility="collapsed")


def chance_of(params: Any, run: Run) -> float:
    """P(IsNext) of the pair."""
    return float(next_sentence.follows(default().open(MODEL), [(params.a, params.b)])[0])


def one(params: Any, run: Run) -> Shown:
    """The pair as it is read, and what is said of it; covered until one guessed."""
    chance = ask.submit(("sentence_pairs.one", params.a, params.b), lambda: chance_of(params, run), 20 * len(params.a + params.b))
    says = SAYS[chance < HALF]
    truth = truth_of(params)
    told = lesson.predict(SLUG + "one", "What does bert-mini say of B?", dict(zip(SAYS, (chance, 1 - chance), strict=True)), says, f"P(IsNext) = {percent(chance)}; one half is the threshold."
                          + ("" if truth is None else f" In truth B {'follows' if truth else 'is not the next sentence'}: it is {'right' if truth == (chance >= HALF) else 'wrong'}."))  # fmt: skip
    n = run.side.n_real
    n_a = run.segments[:n].count(0)
    parts.show(figures.tokens(run.tokens[:n], run.segments[:n], quiet=MARKS, high=30 if lesson.presenting() else 34), SLUG + "tokens",
               f"One row of {n} tokens: [CLS], text A, [SEP], text B, [SEP].")  # fmt: skip
    parts.show(figures.chances([("B follows", chance if told else None), ("B is not the next sentence", 1 - chance if told else None)]), SLUG + "chances",
               f"P(IsNext) {percent(chance)}, P(NotNext) {percent(1 - chance)}." if told else "Two bars, covered until you guessed.")  # fmt: skip
    parts.numbers(f"{n} tokens, {n_a} of A (blue) and {n - n_a} of B (orange). P(IsNext) = {percent(chance)}, P(NotNext) = {percent(1 - chance)}."
                  if told else f"{n} tokens: [CLS] in front, then {n_a - 2} of A (blue), a [SEP], {n - n_a - 1} of B (orange), a [SEP].")  # fmt: skip
    examples(params)
    return Shown(
        {"bert.next": {}}, (rf"P(\text{{IsNext}}) = {chance:.6f}, \quad -\ln P = {-np.log(chance):.4f}",) if told else (),
        "Both texts stand in one row: blue is text A with [CLS] and its [SEP], orange text B. The answer is read from the vector at [CLS] alone: a linear map with tanh, a second one to two scores, a softmax.",
        lambda: pd.DataFrame({"answer": ["B follows", "B is not the next sentence"], "probability": [chance, 1 - chance]}) if told else LATER,
        {"probability": np.array([chance, 1 - chance])} if told else {}, lines(params) + "print(next_sentence.follows(model, [(a, b)]))",
    )  # fmt: skip


def again(params: Any) -> None:
    """Buttons that draw one more and fifty more, and the number of the draw, whose button begins anew."""
    def more(n: int) -> None:
        state.write(**{SLUG + "draws": min(MOST, params.draws + n)})

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("One more pair", key=SLUG + "more", on_click=more, args=(1,), type="primary", disabled=params.draws >= MOST)
        st.button(f"{SOME} more", key=SLUG + "many", on_click=more, args=(SOME,), disabled=params.draws >= MOST)
        controls.draw(SLUG + "draw", START, drops=(SLUG + "draws",))


def drawn(params: Any, run: Run) -> Shown:
    """The newest pair of a lot with its label and what bert-mini says of it; all draws counted beside what is expected."""
    rows = next_pairs.draws(params.draw, params.draws)
    last, found = rows[-1], next_pairs.count(rows)
    model = default().open(MODEL)
    chance = float(ask.submit(("sentence_pairs.drawn", last.first, last.second), lambda: next_sentence.follows(model, [(last.first, last.second)]), 2000)[0])
    row = (["[CLS]", *model.tokenizer.encode(last.first).tokens, "[SEP]"], [*model.tokenizer.encode(last.second).tokens, "[SEP]"])
    left, right = st.columns([3, 2], gap="medium")
    with left:
        parts.show(figures.tokens(row[0] + row[1], [0] * len(row[0]) + [1] * len(row[1]), quiet=MARKS, across=6, high=30 if lesson.presenting() else 34), SLUG + "last", f"Pair {found.n}: A: {last.first} B: {last.second}")
    with right:
        counts = [("B follows", found.follow, found.expected, found.deviation), ("B is not the next sentence", found.n - found.follow, found.n - found.expected, found.deviation)]
        parts.show(figures.counters(counts, found.n), SLUG + "counts", f"{found.follow} of {found.n} draws follow; {found.expected:g} are expected.")
    parts.numbers(
        f"Pair {found.n}: drawn: “{'IsNext' if last.follows else 'NotNext'}”; bert-mini gives P(IsNext) = {percent(chance)}. So far {found.follow} of {found.n} follow; "
        f"expected {found.expected:g} ± {next_pairs.NEAR * found.deviation:.1f}, so the count lies {'inside' if found.inside else 'outside'}."
    )  # fmt: skip
    again(params)
    return Shown(
        {}, (rf"n q \pm 3 \sqrt{{n q (1 - q)}} = {found.expected:g} \pm {next_pairs.NEAR * found.deviation:.2f}, \quad n = {found.n},\ q = {next_pairs.SHARE}",),
        "Blue is text A, orange text B. The grey band is where a count lies in 997 of 1,000 draws. No labels are needed: any running text gives such pairs. A text here is one sentence of ours; "
        "in BERT it is a span of several sentences, and a sentence that does not follow comes from anywhere in the corpus. bert-mini learned mostly with wrong sentences from the same book, which is harder.",
        lambda: pd.DataFrame({"A": [row.first for row in rows], "B": [row.second for row in rows], "follows": [row.follows for row in rows]}),
        {"follows": np.array([row.follows for row in rows])},
        f"from viz.course.bert.sentence_pairs.maths import next_pairs\n\nrows = next_pairs.draws({params.draw}, {params.draws})\nprint(rows[-1])\nprint(next_pairs.count(rows))",
    )  # fmt: skip


@cache
def scored() -> tuple[Score, Score] | None:
    """What bert-mini scored at this game on texts that it had not read, and what one answer for all would; None without a record."""
    found = [score for score in read_scores(shipped_folder() / MODEL) if score.measure == MEASURE]
    own, other = ([score for score in found if (score.of == MODEL) is mine] for mine in (True, False))
    return (own[0], other[0]) if own and other else None


def record() -> str:
    """The same as a sentence."""
    held = scored()
    return "" if held is None else f"Recorded on {held[0].split}, books that it never read: {percent(held[0].value, 2)} right; {held[1].of}: {percent(held[1].value, 2)}."


def known(params: Any, run: Run) -> Shown:
    """Every one of our pairs at its P(IsNext), those that follow above; covered until one guessed how many are told right."""
    rows = next_pairs.judged()
    pairs = [(row.first, row.second) for row in rows]
    values = ask.submit("sentence_pairs.known", lambda: next_sentence.follows(default().open(MODEL), pairs), 100_000)
    half, n = next_pairs.right(values, rows, HALF), len(rows)
    yes = int((values >= HALF).sum())
    told = lesson.predict_number(SLUG + "known", f"bert-mini judges {n} pairs; {sum(row.follows for row in rows)} of them follow. How many does it classify correctly, with the threshold at one half?", 0.0, float(n), float(half),
                                 f"It says “follows” {yes} times. Always the same answer would be right {sum(row.follows for row in rows)} times.", 3.0)  # fmt: skip
    cut = params.cut
    parts.show(figures.judged(values if told else None, [row.follows for row in rows], [f"{row.first} / {row.second}" for row in rows], cut, height=225), SLUG + "known",
               f"Each pair at its P(IsNext); with the threshold at {percent(cut)} {next_pairs.right(values, rows, cut)} of {n} are correct." if told else "Two rows of dots, covered until you guessed.")  # fmt: skip
    better, firsts = next_pairs.preferred(values)
    now = next_pairs.right(values, rows, cut)
    parts.numbers(f"Threshold {percent(cut)}: {now} of {n} right. All lie from {percent(values.min())} to {percent(values.max())}. After the same A the true B is the more probable one in {better} of {firsts} cases. {record()}"
                  if told else f"{n} pairs, one dot each. The line is the threshold: at its right the model says “follows”.")  # fmt: skip
    controls.slider("Threshold", 0.3, 0.8, SLUG + "cut", HALF, 0.01)
    return Shown(
        {"bert.next": {}}, (rf"\text{{right: }} {now} / {n} = {now / n:.3f}", rf"\text{{preferred: }} {better} / {firsts} = {better / firsts:.3f}") if told else (),
        "A dot is a pair: above the pairs that follow, below the same first texts with a sentence that does not follow; green is correct, red wrong. Height within a row means nothing. The wrong sentence has the same subject as A, so words in common do not help. "
        f"bert-mini is small: it has {default().open(MODEL).n_parameters / 1e6:.1f} million parameters and was trained for {trained(MODEL).minutes:.0f} minutes. {record()} BERT itself reached 97 to 98 % with sentences from anywhere (Devlin et al. 2019, section 3.1); later models leave this objective out or make it harder.",
        lambda: pd.DataFrame({"A": [row.first for row in rows], "B": [row.second for row in rows], "follows": [row.follows for row in rows], "P(IsNext)": values}) if told else LATER,
        {"chances": values, "follows": np.array([row.follows for row in rows])} if told else {},
        f"import core\nfrom viz.course.bert.sentence_pairs.maths import next_sentence\nfrom viz.course.bert.sentence_pairs.maths import next_pairs\n\nrows = next_pairs.judged()\nvalues = next_sentence.follows(core.open_model({MODEL!r}), [(row.first, row.second) for row in rows])\n"
        f"print(next_pairs.right(values, rows, {cut}), next_pairs.preferred(values))",
    )  # fmt: skip
