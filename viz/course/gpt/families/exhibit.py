"""Encoder, decoder, both: one sentence through BERT, GPT and a translator; their masks, and which inputs move which output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.gpt.families import two_chains
from viz.course.gpt.families.data import (
    BERT,
    BOTH,
    GPT,
    LONGEST,
    Data,
    FamilyRun,
    Influence,
    move_every_input,
    read,
)
from viz.course.kit.question import Choice
from viz.course.kit.step import View, columns, show_heatmap
from viz.exhibit_text import data as text_data
from viz.instruments.heatmap.heatmap import FORBIDDEN
from viz.instruments.kit import origin
from viz.labels import distinct, literal, percent, query_and_key
from viz.shell import present_layout, state
from viz.widgets import controls, engine_client, exhibit_parts
from viz.widgets.knobs import Knobs, knob, seed_input, sentence

SENTENCES: list[str] = text_data(__file__)["sentences"]
NAMES = {"bert": "BERT", "gpt": "GPT", "both": "Translator's decoder"}
CHANGES = ("none", "only its own", "its own and all after", "its own and all before", "all")
STILL = "not changed at all"
SIDES = {BERT: ["target"], GPT: ["target"], BOTH: ["source", "target"]}
"""The sides of each model whose inputs are changed."""
WORD = "families.word"


@dataclass(frozen=True)
class Params(Knobs):
    """The sentence, and the random weights of the two chains; the word is chosen below the picture."""

    text: str = knob(
        SENTENCES[0],
        sentence("Sentence", SENTENCES, drops=("word",), model=BOTH, most=f"up to {LONGEST} tokens"),
        link="text",
    )
    draw: int = knob(two_chains.DRAW, seed_input(99, next_label="Other weights"))


def compute(params: Params) -> Data:
    """Run the sentence through the three models. Raises InputError for no word, or too many tokens."""
    return read(params.text)


def measured_influence(p: Params, data: Data) -> Influence:
    """Return what moves when each input is moved, measured once for a sentence."""
    key, cost = ("families.moved", data.text, p.draw), 60 * len(data.gpt.inputs)
    return engine_client.submit(key, lambda: move_every_input(data, p.draw), cost)


def chosen_word(data: Data) -> int:
    """Return the number of the word that is changed."""
    return state.read(WORD, len(data.words) // 2, state.whole_number(0, len(data.words) - 1))


def word_pills(data: Data) -> None:
    """Draw the words to choose from."""
    names = distinct(data.words)
    controls.pills("Word", range(len(names)), WORD, len(names) // 2, lambda i: names[i], quiet=True)


def show_map(
    place: DeltaGenerator,
    key: str,
    values: np.ndarray,
    each: FamilyRun,
    title: str,
    revealed: bool,
    *,
    allowed: np.ndarray,
    axis: tuple[str, str] = ("output", "input"),
    shut: str = STILL,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    **look: Any,
) -> None:
    """Draw a heatmap of one model in a column, covered until it is revealed."""
    with place:
        show_heatmap(
            "families",
            key,
            values,
            rows or each.outputs,
            columns or each.inputs,
            title,
            revealed=revealed,
            run=each.run,
            allowed=allowed,
            axis=axis,
            shut=shut,
            height=300,
            **look,
        )


def masks(p: Params, data: Data) -> View:
    """Show the three masks with the real weights in them."""
    counts = {name: int(getattr(data, name).allowed.sum()) for name in NAMES}
    n, b = len(data.gpt.inputs), len(data.bert.inputs)
    titles = ("BERT, encoder", "GPT, decoder", "Translator's decoder: source, own words")

    def picture(revealed: bool) -> None:
        for place, name, title in zip(columns((2, 2, 3), 2), NAMES, titles, strict=False):
            each, known = getattr(data, name), revealed or name == "bert"
            look: dict[str, Any] = {
                "allowed": each.allowed,
                "axis": query_and_key("token"),
                "shut": FORBIDDEN,
            }
            show_map(place, f"masks.{name}", each.weights, each, title, known, **look)

    return View(
        Choice(
            "open",
            f"BERT attends over all {b} × {b} pairs of positions. GPT reads the sentence as {n} tokens. "
            f"How many of its {n} × {n} pairs are not masked?",
            [str(count) for count in (n * n, n * (n + 1) // 2, n * (n - 1) // 2, n)],
            str(counts["gpt"]),
            f"1 + 2 + … + {n} = {counts['gpt']}: each position attends to itself and to those before it.",
        ),
        pd.DataFrame(
            data.gpt.allowed.astype(int), index=list(data.gpt.outputs), columns=list(data.gpt.inputs)
        ),
        picture=picture,
        summary=f"Pairs that are not masked: BERT {counts['bert']} of {b * b}, GPT {counts['gpt']} of {n * n}, "
        f"the decoder of the translator {counts['both']} of {data.both.allowed.size}.",
        preview=f"BERT puts [CLS] and [SEP] around the sentence: {b} tokens, and each attends to all of them.",
        arrays={name: getattr(data, name).allowed for name in NAMES},
        code={"kinds": {BERT: ["self"], GPT: ["causal"], BOTH: ["cross", "causal"]}},
        equations={"masked.mask": {}, "masked.matrix": {}},
    )


def masks_hold(p: Params, data: Data) -> bool:
    """Return whether BERT masks nothing, and GPT all later tokens."""
    return bool(data.bert.allowed.all()) and np.array_equal(data.gpt.allowed, np.tri(len(data.gpt.inputs)))


def ripple(p: Params, data: Data) -> View:
    """Show one word changed, layer by layer."""
    word, found = chosen_word(data), measured_influence(p, data)
    name, own = data.words[word], data.gpt.pieces[word]
    changes = {
        "bert": found.bert[list(data.bert.pieces[word])].max(0),
        "gpt": found.gpt[list(own)].max(0),
        "both": found.source[list(data.both.pieces[word])].max(0),
    }
    counts = {each: f"{int((values[-1] > 0).sum())} of {values.shape[1]}" for each, values in changes.items()}
    last = changes["gpt"][-1]

    def picture(revealed: bool) -> None:
        for place, (each, values) in zip(columns(3, 2), changes.items(), strict=False):
            show_map(
                place,
                f"ripple.{each}",
                np.minimum(values, 1.0),
                getattr(data, each),
                f"{NAMES[each]}: {counts[each]} outputs change",
                revealed or each == "bert",
                allowed=values > 0,
                axis=("after", "place"),
                rows=["in", *(f"L{i}" for i in range(len(values) - 1))],
                columns=getattr(data, each).outputs,
                unit="changed by",
            )

    return View(
        Choice(
            "moves",
            f"The input vector of “{name}” is changed. Which outputs of GPT change?",
            CHANGES,
            pattern_of(last > 0, own),
            f"{int((last > 0).sum())} of {len(last)} change, one of them by {percent(last.max())} of its length; "
            f"the outputs before “{name}” change by exactly 0.",
        ),
        lambda: pd.DataFrame(np.round(changes["gpt"], 4), columns=list(data.gpt.outputs)),
        picture=picture,
        controls=lambda: word_pills(data),
        summary=f"Outputs that change: {', '.join(f'{NAMES[each]} {count}' for each, count in counts.items())}, when “{name}” is changed.",
        preview=f"BERT: {counts['bert']} outputs change when “{name}” is changed.",
        arrays=changes,
        code={"model": GPT, "word": list(own)},
        equations={"masked.mask": {}},
        latex=(r"r_{l,i} = \frac{\lVert x'_{l,i} - x_{l,i} \rVert}{\lVert x_{l,i} \rVert}",),
    )


def pattern_of(changed: np.ndarray, word_positions: Sequence[int]) -> str:
    """Return the one of CHANGES that describes which outputs changed; `word_positions` are those of the changed word.

    >>> pattern_of(np.array([False, True, True]), [1])
    'its own and all after'
    """
    n, places = len(changed), set(np.flatnonzero(changed))
    meanings = dict(
        zip(
            CHANGES,
            (
                set(),
                set(word_positions),
                set(range(min(word_positions, default=0), n)),
                set(range(max(word_positions, default=-1) + 1)),
                set(range(n)),
            ),
            strict=True,
        )
    )
    fitting = [answer for answer, positions in meanings.items() if positions == places]
    return fitting[0] if fitting and places != meanings["all"] else "all"


RIPPLE = {
    "one changed word moves GPT's outputs from it on, and no earlier one": lambda p, data: (
        ripple(p, data).answer == "its own and all after"
    ),
    "it moves all outputs of BERT": lambda p, data: bool((measured_influence(p, data).bert[:, -1] > 0).all()),
}


def who_moves_whom(p: Params, data: Data) -> View:
    """Show the whole pattern of each model, each input changed in turn."""
    found = measured_influence(p, data)
    patterns = {name: found.pattern(name) for name in NAMES}
    m, reached = len(data.both.outputs), int((found.source[-1, -1] > 0).sum())
    titles = ("BERT", "GPT", "Translator's decoder: source, own words")
    agree = all(np.array_equal(patterns[name], getattr(data, name).allowed) for name in NAMES)
    counts = (
        f"In a filled cell the input of the column changes the output of the row. After {data.gpt.run.model.config.n_layers} "
        f"layers GPT has {patterns['gpt'].sum()} such pairs, BERT {patterns['bert'].sum()}."
    )

    def picture(revealed: bool) -> None:
        shown = list(zip(NAMES, titles, strict=True))
        shown = exhibit_parts.by_mode(shown, shown[2:])
        for place, (name, title) in zip(columns(exhibit_parts.by_mode((2, 2, 3), (1,))), shown, strict=True):
            values = patterns[name]
            show_map(
                place,
                f"pattern.{name}",
                values.astype(float),
                getattr(data, name),
                f"{title}, {values.sum()} of {values.size}",
                revealed or name != "both",
                allowed=values,
            )

    return View(
        Choice(
            "places",
            f"The translator: only the last token of the English source, “{data.both.inputs[-m - 1]}”, is changed. "
            f"How many of the {m} outputs of its Spanish decoder change?",
            ("0", "1", str(m)),
            str(reached),
            f"{reached} of {m}, the first position too: the encoder has read the whole source before the decoder begins, "
            "and cross-attention has no mask.",
        ),
        lambda: pd.DataFrame(
            patterns["both"].astype(int), index=list(data.both.outputs), columns=list(data.both.inputs)
        ),
        picture=picture,
        summary=f"{counts} The filled cells are{'' if agree else ' not'} the same as those that one layer leaves unmasked.",
        preview=counts,
        arrays=patterns,
        code={"sides": SIDES},
        equations={"masked.mask": {}},
        latex=(r"\text{filled where}\quad \frac{\partial\, y_i}{\partial\, x_j} \neq 0",),
    )


INFLUENCE_PROMISES = {
    "what moves is what the masks allow, cell by cell": lambda p, data: all(
        np.array_equal(measured_influence(p, data).pattern(name), getattr(data, name).allowed)
        for name in NAMES
    ),
    "the last source token moves every position of the decoder": lambda p, data: bool(
        (measured_influence(p, data).source[-1, -1] > 0).all()
    ),
}


def chains(p: Params, data: Data) -> View:
    """Show ELMo's way: two chains, one from each end, and both joined."""
    word, n, names = chosen_word(data), len(data.words), distinct(data.words)
    reach = {side: values > 0 for side, values in measured_influence(p, data).chains.items()}
    left, right, joined = reach.values()

    def picture(revealed: bool) -> None:
        shown = [
            (side, values)
            for at, (side, values) in enumerate(reach.items())
            if at != 1 or not exhibit_parts.presenting()
        ]
        for place, (side, values) in zip(columns(len(shown)), shown, strict=True):
            with place:
                show_heatmap(
                    "families",
                    f"chain.{two_chains.SIDES.index(side)}",
                    values.astype(float),
                    names,
                    names,
                    f"{side}: {values.sum()} of {n * n}",
                    revealed=revealed,
                    allowed=values,
                    axis=("output", "input"),
                    shut=STILL,
                    height=300,
                )

    return View(
        Choice(
            "heard",
            f"Two chains read the {n} words, one from each end. The vector of “{data.words[word]}” has one half from each. "
            "How many words can change the half from the chain that reads from the left?",
            [str(count) for count in sorted({1, word + 1, n - word, n})],
            str(left[word].sum()),
            f"{left[word].sum()} of {n} from the left, {right[word].sum()} from the right; the word itself is in both. Joined, all {n}.",
        ),
        lambda: pd.DataFrame(left.astype(int), index=names, columns=names),
        picture=picture,
        controls=lambda: word_pills(data),
        summary=f"From the left {left.sum()}, from the right {right.sum()}, joined {joined.sum()} of {n * n} pairs. "
        "Neither half sees the other side.",
        preview="Two small chains of LSTM cells with random weights: the architecture of ELMo, not a trained one.",
        arrays=lambda: {
            f"chain_{i}": values for i, values in enumerate(measured_influence(p, data).chains.values())
        },
        code={"n": n},
        equations={"bahdanau.annotation": {}},
    )


def triangles(p: Params, data: Data) -> bool:
    """Return whether either chain reaches one side, and both together everything."""
    left, right, joined = (values > 0 for values in measured_influence(p, data).chains.values())
    lower = np.tri(len(data.words), dtype=bool)
    return np.array_equal(left, lower) and np.array_equal(right, lower.T) and bool(joined.all())


def table(p: Params, data: Data) -> View:
    """Show the families in rows; the inputs that change the output at the chosen word are counted."""
    word, found = chosen_word(data), measured_influence(p, data)
    patterns = {name: found.pattern(name) for name in NAMES}
    rows = {
        "bert": patterns["bert"][data.bert.pieces[word][0]],
        "gpt": patterns["gpt"][data.gpt.pieces[word][0]],
        "elmo": found.chains[two_chains.SIDES[2]][word] > 0,
        "both": patterns["both"][0],
    }
    counts = {name: (int(row.sum()), len(row)) for name, row in rows.items()}
    (bert, bert_inputs), (gpt, gpt_inputs) = counts["bert"], counts["gpt"]
    depth = data.both.run.model.config.n_layers

    def picture(revealed: bool) -> None:
        shown = {name: f"{got} of {every}" if revealed else "?" for name, (got, every) in counts.items()}
        families = pd.DataFrame(
            {
                "": ["BERT", "GPT", "ELMo (two chains, random)", "Translator"],
                "built from": [
                    "encoder blocks",
                    "decoder blocks without a source",
                    "LSTMs from both ends",
                    "encoder and decoder blocks",
                ],
                "learns to predict": [
                    "masked words",
                    "the next word",
                    "the next word, and the one before",
                    "the next word of the translation",
                ],
                "an output depends on": [
                    "both sides, in every layer",
                    "itself and what came before",
                    "each side by itself, joined at the top",
                    "the whole source, its own words so far",
                ],
                f"inputs that change its output at “{literal(data.words[word])}”": [
                    shown["bert"],
                    shown["gpt"],
                    shown["elmo"],
                    f"{shown['both']}, at its first position",
                ],
                "layers here": [
                    str(data.bert.run.model.config.n_layers),
                    str(data.gpt.run.model.config.n_layers),
                    str(two_chains.LAYERS),
                    f"{depth} and {depth}",
                ],
            }
        )
        with present_layout.full_width():
            st.table(families.set_index(""))

    return View(
        Choice(
            "two",
            f"At the position of “{data.words[word]}”: how many inputs change the output of BERT, and how many that of GPT?",
            tuple(
                f"{one} and {two}" for one, two in ((gpt, gpt), (bert, gpt_inputs), (bert, gpt), (gpt, bert))
            ),
            f"{bert} and {gpt}",
            f"BERT {bert} of {bert_inputs} tokens, GPT {gpt} of {gpt_inputs}, "
            f"ELMo's joined chains {counts['elmo'][0]} of {counts['elmo'][1]} words.",
        ),
        pd.DataFrame(counts, index=["changed by", "inputs"]).T,
        picture=picture,
        controls=lambda: word_pills(data),
        summary="Counted by changing each input of this sentence.",
        preview="The counts are shown after your guess.",
        arrays=counts,
        code={
            "sides": SIDES,
            "outputs": {BERT: data.bert.pieces[word][0], GPT: data.gpt.pieces[word][0], BOTH: 0},
            "n": len(data.words),
            "word": word,
        },
        equations={"masked.mask": {}, "bahdanau.annotation": {}},
    )


def bert_hears_more(p: Params, data: Data) -> bool:
    """Return whether more inputs change BERT's output at the middle word than GPT's."""
    word = len(data.words) // 2
    rows = (
        measured_influence(p, data).pattern(name)[getattr(data, name).pieces[word][0]]
        for name in ("bert", "gpt")
    )
    bert, gpt = (row.sum() for row in rows)
    return bool(bert > gpt)


def thumbnail() -> str:
    """Draw GPT's mask with its weights."""
    gpt = read(SENTENCES[0]).gpt
    return thumbs.cells(gpt.weights, gpt.allowed)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(
            masks,
            ("text",),
            promises={"BERT may read all pairs, GPT itself and what stands before": masks_hold},
        ),
        Step(ripple, promises=RIPPLE),
        Step(who_moves_whom, promises=INFLUENCE_PROMISES),
        Step(chains, ("draw",), promises={"either chain is a triangle, joined they reach all": triangles}),
        Step(
            table,
            promises={"at the middle word more inputs move BERT's output than GPT's": bert_hears_more},
        ),
    ),
    compute_fields=("text",),
    cost=lambda params: 20 * max(1, len(params.text)),
    controls=("text",),
    tells=lambda params, data: origin.tell(text=params.text),
    presets=tuple({"text": text} for text in SENTENCES[1:]),
)
