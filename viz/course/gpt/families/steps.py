"""The steps of the exhibit on families: masks, one word moved, who moves whom, two chains, the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.gpt.families import read
from viz.course.gpt.families.maths import two_chains
from viz.course.gpt.families.params import SLUG, Params
from viz.course.gpt.families.pictures import asked, covered, pattern, side_by_side
from viz.course.lesson import Folds
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, literal, percent
from viz.shell import present_layout, state
from viz.widgets import controls, engine_client, page_parts

MOVES = ("none", "only its own", "its own and all after", "its own and all before", "all")
STILL = "not changed at all"


def masks(params: Params, data: read.Data) -> Folds:
    """The three masks with the real weights in them."""
    n = len(data.gpt.inputs)
    open_ = int(data.gpt.allowed.sum())
    told, picture = asked(
        "open",
        f"BERT attends over all {len(data.bert.inputs)} × {len(data.bert.inputs)} pairs of positions. GPT reads the sentence as {n} tokens. How many of its {n} × {n} pairs are not masked?",
        [str(count) for count in (n * n, n * (n + 1) // 2, n * (n - 1) // 2, n)],
        str(open_),
        f"1 + 2 + … + {n} = {open_}: each position attends to itself and to those before it.",
    )
    for (name, each), place in side_by_side(
        picture,
        (
            ("BERT, encoder", data.bert),
            ("GPT, decoder", data.gpt),
            ("Translator's decoder: source, own words", data.both),
        ),
        (2, 2, 3),
    ):
        with place:
            pattern(
                each.weights, each, name, "masks." + name[0], told or name[0] == "B", allowed=each.allowed
            )
    m, k = len(data.both.outputs), len(data.both.inputs)
    picture.text(
        f"Pairs that are not masked: BERT {data.bert.allowed.sum()} of {len(data.bert.inputs) ** 2}, GPT {open_} of {n * n}, the decoder of the translator {data.both.allowed.sum()} of {m * k}."
        if told
        else f"BERT puts [CLS] and [SEP] around the sentence: {len(data.bert.inputs)} tokens, and each attends to all of them."
    )
    table = pd.DataFrame(
        data.gpt.allowed.astype(int), index=list(data.gpt.outputs), columns=list(data.gpt.inputs)
    )
    arrays = {"bert": data.bert.allowed, "gpt": data.gpt.allowed, "both": data.both.allowed}
    return Folds(
        lambda: table,
        lambda: arrays,
        _code(data, "print(run.attention().allowed[0, 0].astype(int))"),
        told,
        {"masked.mask": {}, "masked.matrix": {}},
    )


def ripple(params: Params, data: read.Data) -> Folds:
    """One word moved, layer by layer."""
    word, found = _word(data), _moved(params, data)
    own = data.gpt.pieces[word]
    hit = found.gpt[list(own), -1].max(0) > 0
    told, picture = asked(
        "moves",
        f"The input vector of “{data.words[word]}” is changed. Which outputs of GPT change?",
        MOVES,
        answer_of(hit, own),
        f"{int(hit.sum())} of {len(hit)} change, one of them by {percent(found.gpt[list(own), -1].max())} of its length; the outputs before “{data.words[word]}” change by exactly 0.",
    )
    layers = [
        (name, each, values[list(each.pieces[word])].max(0))
        for name, each, values in (
            ("BERT", data.bert, found.bert),
            ("GPT", data.gpt, found.gpt),
            ("Translator's decoder", data.both, found.source),
        )
    ]
    for (name, each, values), place in side_by_side(picture, layers):
        with place:
            if told or name == "BERT":
                origin.tell_run(each.run)
                heatmap(
                    np.minimum(values, 1.0),
                    ["in", *(f"L{i}" for i in range(len(values) - 1))],
                    each.outputs,
                    key=f"{SLUG}ripple.{name[0]}",
                    allowed=values > 0,
                    axis=("after", "place"),
                    unit="changed by",
                    shut=STILL,
                    title=f"{name}: {int((values[-1] > 0).sum())} of {values.shape[1]} outputs change",
                    height=300,
                )
            else:
                covered(name)
    picture.text(
        "Outputs that change: "
        + ", ".join(
            f"{name} {int((values[-1] > 0).sum())} of {values.shape[1]}" for name, _, values in layers
        )
        + f", when “{data.words[word]}” is changed."
        if told
        else f"BERT: {int((layers[0][2][-1] > 0).sum())} of {layers[0][2].shape[1]} outputs change when “{data.words[word]}” is changed."
    )
    _words(data, word)
    line = r"r_{l,i} = \frac{\lVert x'_{l,i} - x_{l,i} \rVert}{\lVert x_{l,i} \rVert}"
    return Folds(
        lambda: pd.DataFrame(np.round(layers[1][2], 4), columns=list(data.gpt.outputs)),
        lambda: {"bert": layers[0][2], "gpt": layers[1][2], "both": layers[2][2]},
        _code(data, _INFLUENCE + f"print(found[{list(own)}].max(0).round(3))  # (layer + 1, place)"),
        told,
        {"masked.mask": {}},
        (line,),
    )


def who_moves_whom(params: Params, data: read.Data) -> Folds:
    """The whole pattern of each model, each input moved in turn."""
    found = _moved(params, data)
    m = len(data.both.outputs)
    first = data.both.inputs[-m - 1]
    reached = int((found.source[-1, -1] > 0).sum())
    told, picture = asked(
        "places",
        f"The translator: only the last token of the English source, “{first}”, is changed. How many of the {m} outputs of its Spanish decoder change?",
        ("0", "1", str(m)),
        str(reached),
        f"{reached} of {m}, the first position too: the encoder has read the whole source before the decoder begins, and cross-attention has no mask.",
    )
    patterns = {name: found.pattern(name) for name in ("bert", "gpt", "both")}
    for (name, title), place in side_by_side(
        picture,
        (("bert", "BERT"), ("gpt", "GPT"), ("both", "Translator's decoder: source, own words")),
        (2, 2, 3),
        left_out=(0, 1),
    ):
        with place:
            each = getattr(data, name)
            pattern(
                patterns[name].astype(float),
                each,
                f"{title}, {patterns[name].sum()} of {patterns[name].size}",
                "pattern." + name,
                told or name != "both",
                allowed=patterns[name],
                axis=("output", "input"),
                shut=STILL,
            )
    agree = all(np.array_equal(patterns[name], getattr(data, name).allowed) for name in patterns)
    layers = data.gpt.run.model.config.n_layers
    picture.text(
        f"In a filled cell the input of the column changes the output of the row. After {layers} layers GPT has {patterns['gpt'].sum()} such pairs, BERT {patterns['bert'].sum()}."
        + (
            f" The filled cells are{'' if agree else ' not'} the same as those that one layer leaves unmasked."
            if told
            else ""
        )
    )
    line = r"\text{filled where}\quad \frac{\partial\, y_i}{\partial\, x_j} \neq 0"
    return Folds(
        lambda: pd.DataFrame(
            patterns["both"].astype(int), index=list(data.both.outputs), columns=list(data.both.inputs)
        ),
        lambda: patterns,
        _code(data, _INFLUENCE + "print((found[:, -1].T > 0).astype(int))  # (output, input)"),
        told,
        {"masked.mask": {}},
        (line,),
    )


def chains(params: Params, data: read.Data) -> Folds:
    """ELMo's way: two chains, one from each end, and both joined."""
    word, found, n = _word(data), _moved(params, data).chains, len(data.words)
    heard = int((found[two_chains.SIDES[0]][word] > 0).sum())
    told, picture = asked(
        "heard",
        f"Two chains read the {n} words, one from each end. The vector of “{data.words[word]}” has one half from each. How many words can change the half from the chain that reads from the left?",
        [str(count) for count in sorted({1, word + 1, n - word, n})],
        str(heard),
        f"{heard} of {n} from the left, {int((found[two_chains.SIDES[1]][word] > 0).sum())} from the right; the word itself is in both. Joined, all {n}.",
    )
    names = distinct(data.words)
    for (name, values), place in side_by_side(picture, tuple(found.items()), left_out=(1,)):
        with place:
            if told:
                heatmap(
                    (values > 0).astype(float),
                    names,
                    names,
                    key=f"{SLUG}chain.{two_chains.SIDES.index(name)}",
                    allowed=values > 0,
                    axis=("output", "input"),
                    shut=STILL,
                    title=f"{name}: {(values > 0).sum()} of {n * n}",
                    height=300,
                )
            else:
                covered(name)
    page_parts.summary(
        f"From the left {(found[two_chains.SIDES[0]] > 0).sum()}, from the right {(found[two_chains.SIDES[1]] > 0).sum()}, joined {(found[two_chains.SIDES[2]] > 0).sum()} of {n * n} pairs. Neither half sees the other side."
        if told
        else "Two small chains of LSTM cells with random weights: the architecture of ELMo, not a trained one."
    )
    _words(data, word)
    code = f"from viz.course.gpt.families.maths.two_chains import influence\n\nfor name, moved in influence({n}, draw={params.draw}).items():\n    print(name)\n    print((moved > 0).astype(int))"
    return Folds(
        lambda: pd.DataFrame((found[two_chains.SIDES[0]] > 0).astype(int), index=names, columns=names),
        lambda: {f"chain_{i}": found[name] for i, name in enumerate(two_chains.SIDES)},
        code,
        told,
        {"bahdanau.annotation": {}},
    )


def table(params: Params, data: read.Data) -> Folds:
    """The families in rows; what moves the output at the chosen word is counted."""
    word, found = _word(data), _moved(params, data)
    patterns = {name: found.pattern(name) for name in ("bert", "gpt", "both")}
    counts = {
        name: (int(patterns[name][getattr(data, name).pieces[word][0]].sum()), patterns[name].shape[1])
        for name in ("bert", "gpt")
    }
    joined = found.chains[two_chains.SIDES[2]]
    counts |= {
        "elmo": (int((joined[word] > 0).sum()), len(data.words)),
        "both": (int(patterns["both"][0].sum()), len(data.both.inputs)),
    }
    right = f"{counts['bert'][0]} and {counts['gpt'][0]}"
    told, picture = asked(
        "two",
        f"At the position of “{data.words[word]}”: how many inputs change the output of BERT, and how many that of GPT?",
        (
            f"{counts['gpt'][0]} and {counts['gpt'][0]}",
            f"{counts['bert'][0]} and {counts['gpt'][1]}",
            right,
            f"{counts['gpt'][0]} and {counts['bert'][0]}",
        ),
        right,
        f"BERT {counts['bert'][0]} of {counts['bert'][1]} tokens, GPT {counts['gpt'][0]} of {counts['gpt'][1]}, ELMo's joined chains {counts['elmo'][0]} of {counts['elmo'][1]} words.",
    )
    said = {name: f"{got} of {of}" if told else "?" for name, (got, of) in counts.items()}
    rows = pd.DataFrame(
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
                said["bert"],
                said["gpt"],
                said["elmo"],
                f"{said['both']}, at its first position",
            ],
            "layers here": [
                str(data.bert.run.model.config.n_layers),
                str(data.gpt.run.model.config.n_layers),
                str(two_chains.LAYERS),
                f"{data.both.run.model.config.n_layers} and {data.both.run.model.config.n_layers}",
            ],
        }
    ).set_index("")
    with picture, present_layout.full_width():
        st.table(rows)
    page_parts.summary(
        "Counted by changing each input of this sentence."
        if told
        else "The counts are shown after your guess."
    )
    _words(data, word)
    return Folds(
        lambda: pd.DataFrame(counts, index=["changed by", "inputs"]).T,
        lambda: counts,
        _code(data, _INFLUENCE + "print((found[:, -1].T > 0).sum(1))  # inputs that move each output"),
        told,
        {"masked.mask": {}, "bahdanau.annotation": {}},
    )


_INFLUENCE = "from viz.course.gpt.families.maths.influence import influence\n\nfound = influence(model, run.side.text)  # (input, layer + 1, place)\n"


def _code(data: read.Data, last: str) -> str:
    return f"import core\n\nmodel = core.open_model({read.GPT!r})  # or {read.BERT!r}, {read.BOTH!r}\nrun = model.run({data.text!r})\n{last}"


def _moved(params: Params, data: read.Data) -> read.Moved:
    return engine_client.submit(
        ("families.moved", data.text, params.draw),
        lambda: read.moved(data, params.draw),
        60 * len(data.gpt.inputs),
    )


def _word(data: read.Data) -> int:
    return state.read(SLUG + "word", len(data.words) // 2, state.whole_number(0, len(data.words) - 1))


def _words(data: read.Data, word: int) -> None:
    names = distinct(data.words)
    controls.pills("Word", range(len(names)), SLUG + "word", len(names) // 2, lambda i: names[i], quiet=True)


def answer_of(hit: np.ndarray, own: Sequence[int]) -> str:
    """Return the one of MOVES that describes which outputs moved."""
    n, moved = len(hit), set(np.flatnonzero(hit))
    after, before = set(range(min(own, default=0), n)), set(range(max(own, default=-1) + 1))
    for answer, places in (
        ("none", set()),
        ("only its own", set(own)),
        ("all", set(range(n))),
        ("its own and all after", after),
        ("its own and all before", before),
    ):
        if moved == places:
            return answer
    return "all"
