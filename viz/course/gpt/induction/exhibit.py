"""How induction works: a previous-token head and an induction head of a two-layer model, cut and seen in a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from core.analysis.attention.measures import first_key_weight, offset_weight
from core.serving.engine import default
from viz.charts import marks, thumbs
from viz.charts.curves import number
from viz.course.exhibit import Exhibit, Step
from viz.course.gpt.induction.data import (
    KIND,
    LANGUAGE,
    LONGEST,
    LONGEST_TEXT,
    SHORTEST,
    TINY,
    Twice,
    TwoReadings,
    ablations,
    read_text_twice,
    read_twice,
)
from viz.course.gpt.token_costs import token_costs
from viz.course.kit.question import Choice, Estimate
from viz.course.kit.step import View, columns, describe, show_chart, show_cover, show_heatmap
from viz.exhibit_text import data
from viz.instruments.kit import origin
from viz.labels import distinct, head_name, percent, query_and_key
from viz.widgets import engine_client, exhibit_parts
from viz.widgets.knobs import Knobs, knob, sentence

STRINGS: list[str] = data(__file__)["strings"]
SENTENCES: list[str] = data(__file__)["sentences"]
LARGEST_PARTS = 6
"""So many of the largest parts of a score are drawn."""


@dataclass(frozen=True)
class Params(Knobs):
    """The string that the small model reads twice, and the text that gpt-mini reads twice."""

    string: str = knob(
        STRINGS[0],
        sentence("String", STRINGS, placeholder=f"Type {SHORTEST} to {LONGEST} letters or digits"),
    )
    text: str = knob(
        SENTENCES[0],
        sentence("Text", SENTENCES, model=LANGUAGE, most=f"up to {LONGEST_TEXT} tokens"),
        link="text",
    )


def compute(params: Params) -> Twice:
    """Read the string twice. Raises InputError for other than 4 to 8 letters and digits."""
    return read_twice(default().open(TINY), params.string)


def name_of(head: tuple[int, int], twice: Twice) -> str:
    """Return a head's name, layer and head counted from 0."""
    return f"head {head_name(head[0] % twice.run.model.config.n_layers, head[1])}"


def show_maps(twice: Twice, heads: Sequence[tuple[int, int]], places: Sequence, revealed: bool) -> None:
    """Draw the attention of some heads, each in its column."""
    names = distinct(twice.run.tokens)
    for place, (layer, head) in zip(places, heads, strict=False):
        with place:
            show_heatmap(
                "induction",
                f"map.{layer}.{head}",
                twice.weights[layer, head],
                names,
                names,
                f"Head {head_name(layer % 2, head)}",
                revealed=revealed,
                run=twice.run,
                kind=KIND,
                layer=layer % 2,
                head=head,
                allowed=twice.run.attention(KIND).allowed[layer, head],
                axis=query_and_key("symbol"),
                height=exhibit_parts.by_mode(340, 320),
            )


def twice_read(p: Params, twice: Twice) -> View:
    """Show the probability of each next symbol, in both copies."""
    tokens, n = twice.run.tokens, twice.n
    symbol, right = twice.symbols[twice.position], twice.symbols[twice.position + 1]
    row = twice.run.logits[twice.query].astype(np.float64)
    chances = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
    ids = dict(zip(twice.symbols, twice.run.side.ids, strict=False))
    options = {each: float(chances[number]) for each, number in sorted(ids.items())}
    best = max(options, key=options.__getitem__)
    first, second = float(twice.probabilities[: n - 1].mean()), twice.second_copy
    table = pd.DataFrame(
        {"P": twice.probabilities, "copy": [1 + (at >= n) for at in range(2 * n - 1)]},
        index=[f"{number + 1}  {one} → {two}" for number, (one, two) in enumerate(pairwise(tokens))],
    )
    return View(
        Choice(
            "next",
            f"The string “{p.string.strip()}” comes twice. After the second “{symbol}”, which symbol gets the highest probability?",
            options,
            best,
            f"P = {percent(options[best], 2)}. In the first copy “{symbol}” was followed by “{right}”, which the model gave "
            f"{percent(twice.probabilities[twice.position], 2)} there.",
        ),
        table,
        lambda revealed: marks.bars(
            table["P"],
            [percent(value) for value in table["P"]],
            hues=[int(copy) - 1 for copy in table["copy"]],
            covered=not revealed,
            row=24,
        ),
        "Probability of the next symbol",
        f"In the first copy the right next symbol has a mean probability of {percent(first, 2)}, in the second {percent(second, 2)}.",
        f"{n} symbols, twice. The model predicts each from those before it.",
        present_height=390,
        arrays={"probabilities": twice.probabilities},
        equations={"gpt.conditionals": {}},
    )


def previous_symbol(p: Params, twice: Twice) -> View:
    """Show the attention of the heads of the first layer."""
    weights, head = twice.weights, twice.previous_head[1]
    means = {
        "to the symbol before": offset_weight(weights, -1)[0],
        "to the symbol itself": offset_weight(weights, 0)[0],
        "to the first symbol": first_key_weight(weights)[0],
    }
    heads = range(weights.shape[1])
    table = pd.DataFrame(means, index=[f"head {head_name(0, each)}" for each in heads])
    options = {place: float(each[head]) for place, each in means.items()}
    best = max(options, key=options.__getitem__)
    others = ", ".join(f"head {head_name(0, each)} {percent(means[best][each])}" for each in heads)
    return View(
        Choice(
            "where",
            f"Head {head_name(0, head)}: where does it attend most, the mean of all positions from the third on?",
            options,
            best,
            f"It gives {percent(options[best])} of its attention {best}.",
        ),
        table,
        picture=lambda revealed: show_maps(
            twice, [(0, each) for each in heads], columns(len(heads)), revealed
        ),
        summary=f"Mean attention {best}: {others}.",
        preview=f"Two heads, and the {2 * twice.n} positions of the string and its copy.",
        arrays={"weights": weights[0]},
        equations={"masked.matrix": {}},
    )


def look_up(p: Params, twice: Twice) -> View:
    """Show the attention of the induction head, and the parts of its score."""
    layer, head = twice.induction_head
    name, symbol, right = (
        name_of((layer, head), twice),
        twice.symbols[twice.position],
        twice.symbols[twice.position + 1],
    )
    row = twice.weights[layer, head, twice.query]
    options = {
        f"{symbol}, its first occurrence": float(row[twice.position]),
        f"{right}, after the first {symbol}": float(row[twice.position + 1]),
        f"{twice.symbols[twice.position - 1]}, just before it": float(row[twice.query - 1]),
        f"{twice.symbols[0]}, the first symbol": float(row[0]),
    }
    best = max(options, key=options.__getitem__)
    products = twice.products()
    total, largest = sum(products.values()), next(iter(products))
    table = pd.DataFrame({"query part × key part": list(products), "product": list(products.values())})
    shown = (
        pd.Series(products)
        .head(LARGEST_PARTS)
        .rename(lambda pair: pair.replace(" embedding", "").replace("head ", ""))
    )

    def picture(revealed: bool) -> None:
        left, right = columns((1, 1))
        show_maps(twice, [(layer, head)], [left], revealed)
        with right:
            if not revealed:
                show_cover("induction", "Parts of the score")
                return
            bars = marks.bars(
                shown.abs(),
                [number(value) for value in shown],
                title="Parts of the score",
                hues=[int(value < 0) for value in shown],
                row=exhibit_parts.by_mode(44, 42),
            )
            show_chart(
                bars,
                "induction.parts",
                "Parts of the score",
                describe(table.set_index("query part × key part")),
            )

    return View(
        Choice(
            "looked",
            f"The second “{symbol}” is the query of {name}. Which symbol does the head attend to most?",
            options,
            best,
            f"It gets {percent(options[best])} of the attention. Its value is what the head copies.",
        ),
        table,
        picture=picture,
        summary=f"Score {total:.2f}. The largest part is {largest} with {products[largest]:.2f}.",
        preview=f"{name[0].upper()}{name[1:]} is the head of the last layer with the largest induction score.",
        arrays={"weights": twice.weights[layer, head], "products": np.array(list(products.values()))},
        latex=(r"q \cdot k = \sum_{a} \sum_{b} q_a \cdot k_b",),
    )


def ablated_heads(p: Params, twice: Twice) -> View:
    """Show the probability of the right symbol with heads ablated."""
    shares = dict(ablations(twice))
    alone = [share for name, share in shares.items() if name.startswith("head L0.")]
    both = shares["all heads of layer 0"]
    return View(
        Estimate(
            "both",
            "Without one head of the first layer the right symbol keeps a mean probability of "
            f"{' or '.join(percent(value) for value in alone)}. How much is left without both?",
            0,
            1,
            both,
            f"{percent(both, 2)}: no key holds its predecessor any more"
            + ("." if both < 0.05 else ", so this is found without the symbol before.")
            + " Alone, one head can largely replace the other.",
            0.1,
            "%",
        ),
        table := pd.DataFrame({"P of the right symbol": pd.Series(shares)}),
        lambda revealed: marks.bars(
            pd.Series(shares),
            [percent(value) for value in shares.values()],
            hues=[int(name.startswith("all")) for name in shares],
            covered=not revealed,
            row=34,
        ),
        "Mean probability of the right symbol in the second copy, without",
        f"With all heads {percent(shares['nothing'])}; without the first layer {percent(both, 2)}, without the last "
        f"{percent(shares['all heads of layer 1'], 2)}.",
        f"With all heads the right symbol has {percent(shares['nothing'])} in the second copy.",
        present_height=330,
        arrays={"p": table["P of the right symbol"].to_numpy()},
    )


def readings(p: Params) -> TwoReadings:
    """Return the two readings of the text, computed once for it."""
    key, cost = ("induction.readings", p.text), 40 * len(p.text)
    return engine_client.submit(key, lambda: read_text_twice(default().open(LANGUAGE), p.text), cost)


def language_model(p: Params, twice: Twice) -> View:
    """Show the surprisal of each token of a text, read twice by gpt-mini."""
    both = readings(p)
    first, second = float(both.first.mean()), float(both.second.mean())
    words = distinct(token.removeprefix(" ") or token for token in both.tokens)
    layer, head = both.best_head

    def picture(revealed: bool) -> None:
        origin.tell(model=LANGUAGE, text=p.text)
        costs = {"first reading": both.first.tolist()} | (
            {"second reading": both.second.tolist()} if revealed else {}
        )
        chart = token_costs(words, costs, height=exhibit_parts.by_mode(250, 300))
        show_chart(
            chart, "induction.surprisal", "Surprisal of each token", describe(table) if revealed else None
        )

    table = pd.DataFrame({"first reading": both.first, "second reading": both.second}, index=words)
    return View(
        Estimate(
            "second",
            f"In the first reading the mean surprisal is {first:.2f} nats per token. What is it in the second reading?",
            0,
            max(1, round(2 * first)),
            second,
            f"{second:.2f} nats: {'less' if second < first else 'not less'} than in the first. "
            f"Head {head_name(layer, head)} has the largest induction score, {both.scores.max():.2f}.",
            0.3,
            "nats",
        ),
        table,
        picture=picture,
        summary=f"Mean surprisal {first:.2f}, then {second:.2f} nats per token. Largest induction score: head {head_name(layer, head)} "
        f"with {both.scores.max():.2f}; the mean of all heads is {both.scores.mean():.2f}.",
        preview=f"The first reading: {first:.2f} nats per token.",
        equations={"gpt.conditionals": {}},
    )


def thumbnail() -> str:
    """Draw the attention of the induction head."""
    twice = compute(Params())
    layer, head = twice.induction_head
    return thumbs.cells(twice.weights[layer, head], twice.run.attention(KIND).allowed[layer, head])


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(
            twice_read,
            ("string",),
            promises={
                "nothing is known in the first copy, nearly all in the second": lambda p, twice: (
                    twice.probabilities[: twice.n - 1].mean() < 0.1 and twice.second_copy > 0.9
                )
            },
        ),
        Step(
            previous_symbol,
            ("string",),
            promises={
                "a head of the first layer attends to the symbol before": lambda p, twice: (
                    previous_symbol(p, twice).answer == "to the symbol before"
                )
            },
        ),
        Step(
            look_up,
            ("string",),
            promises={
                "the head attends to the symbol after the first occurrence": lambda p, twice: (
                    "after the first" in look_up(p, twice).answer
                ),
                "the largest part is the token against a head of the first layer": lambda p, twice: next(
                    iter(twice.products())
                ).startswith("token embedding × head L0."),
            },
        ),
        Step(
            ablated_heads,
            ("string",),
            promises={
                "without the last layer the look-up is gone": lambda p, twice: (
                    ablations(twice)["all heads of layer 1"] < 0.05
                ),
                "without the first layer it loses more than without any of its heads": lambda p, twice: (
                    ablations(twice)["all heads of layer 0"]
                    < min(ablations(twice)[f"head L0.H{head}"] for head in range(2)) - 0.2
                ),
            },
        ),
        Step(
            language_model,
            ("text",),
            promises={
                "the second reading is less surprising": lambda p, twice: (
                    readings(p).second.mean() < readings(p).first.mean() - 0.3
                )
            },
        ),
    ),
    compute_fields=("string",),
    cost=100,
    tells=lambda params, twice: origin.tell(model=TINY, text=twice.run.side.text),
    presets=(*({"string": each} for each in STRINGS[1:]), *({"text": each} for each in SENTENCES[1:])),
)
