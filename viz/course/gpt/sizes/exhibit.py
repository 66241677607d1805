"""How large the models are: counted by part from our own classes, beside the stated figures; the race; a calculator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log10

import pandas as pd
import streamlit as st

from viz.charts import marks, thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.gpt.sizes import data
from viz.course.gpt.sizes.data import BERTS, GPT2, RACE, Data, Shape, block_weights, count, screen_name
from viz.course.kit.question import Choice, Estimate
from viz.course.kit.step import View, columns, describe, show_chart
from viz.labels import percent
from viz.shell import state
from viz.widgets import exhibit_parts
from viz.widgets.knobs import Control, Knobs, knob, pills, segmented, select_slider, slider, toggle

MODELS = ("BERT-Base", "BERT-Large", "TinyBERT", "GPT-2 small", "GPT-2 XL")
BASE, SMALL, LAST = "BERT-Base", "GPT-2 small", "GPT-3"
START = GPT2[SMALL]
WIDTHS = (64, 128, 256, 512, 768, 1024, 1280, 1600, 2048, 3072, 4256, 8192, 12_288)
HEADS = (1, 2, 4, 8, 12, 16, 20, 25, 28, 32, 64, 96)
VOCABULARIES = (256, 1000, 8000, 30_522, 50_257, 100_000, 250_000)
CONTEXTS = (128, 512, 1024, 2048, 8192, 32_768)
READY = ("GPT-2 small", "GPT-2 XL", "GPT-3", "Megatron-LM", "Turing-NLG")
READY_IN_PRESENT = 3


VARIANTS, GROWN, AGAINST = (
    tuple(name for name in models if name != first)
    for models, first in ((BERTS, BASE), (GPT2, SMALL), (RACE, LAST))
)


def shape_fields(shape: Shape) -> dict[str, int]:
    """Return a shape as values of the calculator's controls."""
    return {
        "layers": shape.n_layers,
        "width": shape.d_model,
        "heads": shape.n_heads,
        "vocabulary": shape.n_vocab,
        "context": shape.n_ctx,
    }


def ready_shapes(key: str, _: int, params: Params, names: Callable[[str], str]) -> None:
    """Draw pills of published shapes; each sets the calculator's controls."""
    offered = exhibit_parts.by_mode(READY, READY[:READY_IN_PRESENT])
    lit = next((name for name in offered if shape_fields(data.ALL[name]) == shape_fields(params.shape)), None)

    def load() -> None:
        if (name := st.session_state.get(key)) in READY:
            fields = shape_fields(data.ALL[name])
            state.write(**{names(field): value for field, value in fields.items()})

    state.seed_widget(key, lit)
    st.pills("Ready shapes", offered, key=key, default=lit, on_change=load, label_visibility="collapsed")


@dataclass(frozen=True)
class Params(Knobs):
    """The models to compare at each step, and the shape in the calculator."""

    model: str = knob(MODELS[0], segmented("Model", MODELS, quiet=True))
    variant: str = knob("RoBERTa", pills("Compare with BERT-Base", VARIANTS, screen_name, quiet=True))
    grown: str = knob("GPT-2 XL", segmented("Compare with the small one", GROWN, quiet=True))
    against: str = knob("GPT-2 XL", segmented("Compare GPT-3 with", AGAINST, quiet=True, width=720))
    plain: bool = knob(False, toggle("Linear axis", width=1))
    ready: int = knob(0, Control(ready_shapes, lambda opening: state.whole_number(0, 0)))
    layers: int = knob(START.n_layers, slider("Layers L", 1, 96, width=320))
    width: int = knob(START.d_model, select_slider("Width d", WIDTHS, "{:,}".format, width=320))
    heads: int = knob(START.n_heads, select_slider("Heads h", HEADS, width=320))
    vocabulary: int = knob(
        START.n_vocab, select_slider("Vocabulary V", VOCABULARIES, "{:,}".format, width=320)
    )
    context: int = knob(START.n_ctx, select_slider("Context C", CONTEXTS, "{:,}".format, width=320))

    @property
    def shape(self) -> Shape:
        """Return the shape in the calculator."""
        return Shape("gpt", self.layers, self.width, self.heads, self.vocabulary, self.context)


def compute(params: Params) -> Data:
    """Count everything. Raises InputError where the heads cannot share the width."""
    counts = {name: data.count_by_part(shape) for name, shape in data.ALL.items()}
    return Data(counts, params.shape, data.count_by_part(params.shape))


def formula(shape: Shape) -> tuple[str, dict[str, str]]:
    """Return the equation of a kind of model with the numbers of a shape; XLNet has that of BERT, without numbers."""
    if shape.kind == "xlnet":
        return "sizes.bert", {}
    sizes = {"V": shape.n_vocab, "C": shape.n_ctx, "L": shape.n_layers, "d": shape.d_model}
    if shape.kind != "gpt":
        sizes |= {"S": shape.n_segments, "F": shape.d_ff}
    if shape.kind == "albert":
        sizes |= {"E": shape.embed}
    return f"sizes.{shape.kind}", {symbol: f"{value:,}" for symbol, value in sizes.items()}


def rule_of_thumb(shape: Shape) -> dict[str, str]:
    """Return the numbers of the rule 12 L d²."""
    return {"L": str(shape.n_layers), "d": f"{shape.d_model:,}", "B": f"{block_weights(shape):,}"}


def near(stated: float | None, counted: int, tolerance: float) -> bool:
    """Return whether a count is within a share of the stated billions."""
    return stated is not None and abs(counted / 1e9 / stated - 1) < tolerance


def by_part(p: Params, models: Data) -> View:
    """Show one model, part by part."""
    counts, shape = pd.Series(models.counts[p.model]), data.ALL[p.model]
    total, most = counts.sum(), str(counts.idxmax())
    options = {
        part: models.counts[p.model][part] for part in (data.WORDS, data.PLACES, data.ATTENTION, data.NETWORK)
    }
    key, values = formula(shape)
    both = " ".join(
        f"{name}: {models.total(name):,} counted, {1000 * (BERTS[name].stated or 0):.0f}M stated."
        for name in (BASE, "BERT-Large")
    )
    return View(
        Choice(
            "most",
            f"{p.model} has {total:,} parameters. Which part has most of them?",
            options,
            most,
            f"{most}: {counts[most]:,}, that is {percent(counts[most] / total)}. "
            f"Attention has {counts[data.ATTENTION]:,}, {percent(counts[data.ATTENTION] / total)}.",
        ),
        pd.DataFrame({"parameters": counts, "share": counts / total}),
        lambda revealed: marks.bars(
            counts,
            title=f"{p.model}: {shape.n_layers} layers, width {shape.d_model:,}, {shape.n_heads} heads",
            hues=[data.PARTS.index(part) for part in counts.index],
            covered=not revealed,
        ),
        f"Parameters of {p.model} by part",
        both,
        both,
        present_height=336,
        code={"names": (p.model,)},
        equations={key: values},
        latex=(f"{' + '.join(f'{n:,}' for n in counts)} = {total:,}".replace(",", r"\,"),),
    )


BY_PART = {
    "most parameters are in the feed-forward networks": lambda p, models: (
        by_part(p, models).answer == data.NETWORK
    ),
    "110M and 340M are the counts, rounded": lambda p, models: all(
        near(BERTS[name].stated, models.total(name), 0.02) for name in (BASE, "BERT-Large")
    ),
    "the number of heads changes no count": lambda p, models: count(Shape(n_heads=4)) == count(Shape()),
}


def variants(p: Params, models: Data) -> View:
    """Show BERT and the models named after it."""
    name, table = p.variant, models.table(BERTS)
    own, base, shape, first = models.total(name), models.total(BASE), BERTS[name], BERTS[BASE]
    larger = [each for each in VARIANTS if models.total(each) > base]
    key, values = formula(shape)

    def chart(revealed: bool) -> marks.vega.Layers:
        rows = table if revealed else table.sort_index()  # their order is an answer
        return marks.bars(
            rows["parameters"].rename(screen_name),
            hues=[int(each == BASE) for each in rows.index],
            highlighted=(screen_name(name), screen_name(BASE)),
            title="Parameters of BERT and its variants",
            covered=not revealed,
            row=30,
        )

    return View(
        Choice(
            "smaller",
            f"{screen_name(name)}: smaller or larger than BERT-Base?",
            {"smaller": base, "larger": own},
            "larger" if own > base else "smaller",
            f"{own:,} against {base:,}: {abs(own - base):,} {'more' if own > base else 'fewer'}. {shape.n_layers} layers of width "
            f"{shape.d_model:,} with {shape.n_vocab:,} tokens, against {first.n_layers} of {first.d_model:,} with {first.n_vocab:,}.",
        ),
        table,
        chart,
        "Parameters of BERT and its variants",
        f"BERT-Base has {base:,}; larger are {', '.join(larger)}, smaller the other {len(VARIANTS) - len(larger)}.",
        f"BERT-Base has {base:,} parameters. The slides list RoBERTa with the smaller versions.",
        numbers=lambda: describe(table.rename(screen_name)),
        present_height=364,
        code={"names": tuple(BERTS)},
        equations={key: values},
        latex=() if shape.kind == "xlnet" else (rf"P = {own:,}".replace(",", r"\,"),),
    )


VARIANTS_HOLD = {
    "counted and closed form agree for every variant": lambda p, models: all(
        sum(data.closed_form(shape).values()) == count(shape) for shape in BERTS.values()
    ),
    "RoBERTa is larger than BERT-Base": lambda p, models: models.total("RoBERTa") > models.total(BASE),
    "BERT-Small is a quarter of BERT-Base": lambda p, models: (
        0.2 < models.total("Small BERT") / models.total(BASE) < 0.3
    ),
}


def four_sizes(p: Params, models: Data) -> View:
    """Return the sizes of GPT-2, from small to the chosen one."""
    name, shape, table = p.grown, GPT2[p.grown], models.table(GPT2)
    own, small = models.total(name), models.total(SMALL)
    close = [each for each in GPT2 if models.total(each) >= 1.45e9]
    names = {each: f"{each}\n{one.n_layers} layers × {one.d_model:,}" for each, one in GPT2.items()}
    key, values = formula(shape)
    return View(
        Estimate(
            "times",
            f"{name} has {shape.n_layers} layers of width {shape.d_model:,}, {SMALL} {START.n_layers} of width "
            f"{START.d_model}. How many times as many parameters does {name} have?",
            0,
            20,
            own / small,
            f"{own:,} / {small:,} = {own / small:.2f}. Layers × {shape.n_layers / START.n_layers:g}; the width enters squared, × "
            f"{(shape.d_model / START.d_model) ** 2:.2f}; the embedding matrix grows with the width alone.",
            1.0,
            "times",
        ),
        table,
        lambda revealed: marks.bars(
            table["parameters"].rename(names),
            highlighted=(names[name], names[SMALL]),
            title="The models named GPT-2",
            covered=not revealed,
        ),
        "The models named GPT-2, by their parameters",
        f"“GPT-2 has 1.5 billion parameters” holds for {len(close)} of {len(GPT2)}: {', '.join(close)} with {models.total(close[0]):,}.",
        f"Ghojogh and Ghodsi 2020 say: GPT-2 has {GPT2['GPT-2 XL'].stated} billion parameters. {len(GPT2)} models have that name.",
        present_height=302,
        code={"names": tuple(GPT2)},
        equations={key: values, "sizes.blocks": rule_of_thumb(shape)},
    )


FOUR_SIZES = {
    "1.5 billion is the count of the largest alone": lambda p, models: (
        [name for name in GPT2 if near(1.5, models.total(name), 0.05)] == ["GPT-2 XL"]
    ),
    "DistilGPT-2 keeps the whole embedding matrix": lambda p, models: (
        models.counts["DistilGPT-2"][data.WORDS] == models.counts[SMALL][data.WORDS]
    ),
}


def race(p: Params, models: Data) -> View:
    """Show sizes over the years, and how many times one model fits into the last."""
    own, last = models.total(p.against), models.total(LAST)
    times = last / own
    top = 10 ** len(str(int(times)))
    table = models.table(RACE)
    table.insert(0, "billions", table["parameters"] / 1e9)
    table.insert(1, "stated", [shape.stated for shape in RACE.values()])
    table.insert(2, "published", [data.year_of(name) for name in RACE])
    stated = {name: shape.stated for name, shape in RACE.items() if shape.stated and shape.stated >= 1}
    labels = [
        f"{size:.3g}" + (f" ({stated[name]:g} stated)" if name in stated else "")
        for name, size in zip(RACE, table["billions"], strict=True)
    ]
    return View(
        Estimate(
            "fit",
            f"{LAST} was published {data.months_between(p.against, LAST):g} months after {p.against}. "
            "How many times as many parameters does it have?",
            0,
            top,
            times,
            f"{last:,} / {own:,} = {times:,.1f}: on the logarithmic axis {log10(times):.2f} powers of ten.",
            top / 10,
            "times",
        ),
        table,
        lambda revealed: marks.points(
            table,
            "published",
            "billions",
            labels,
            title="parameters, billions",
            highlighted=(p.against, LAST),
            ticks=((2019, 2020), (0.1, 1, 10, 100)),
            logarithmic=not p.plain,
            covered=not revealed,
        ),
        "Billions of parameters by the day of publication",
        f"Stated, in billions: {'; '.join(f'{name} {each:g}' for name, each in stated.items())}. "
        f"Counted: {LAST} {last:,}, of which 12·L·d² = {block_weights(RACE[LAST]):,} in the blocks.",
        f"{len(RACE)} models in {data.months_between(BASE, LAST):g} months. The dots come after your guess.",
        code={"names": tuple(RACE)},
        equations={"sizes.blocks": rule_of_thumb(RACE[LAST])},
    )


RACED = {
    "15½ months from GPT-2 to GPT-3, and about 112 times the parameters": lambda p, models: (
        data.months_between("GPT-2 XL", LAST) == 15.5
        and 105 < models.total(LAST) / models.total("GPT-2 XL") < 120
    ),
    "stated and counted differ by a twentieth at most": lambda p, models: all(
        near(shape.stated, models.total(name), 0.05) for name, shape in RACE.items() if shape.stated
    ),
}


def calculator(p: Params, models: Data) -> View:
    """Show any shape: its parts, the rule 12 L d², and the memory it takes."""
    shape, counts = models.shape, pd.Series(models.parts)
    total, rule, words = counts.sum(), block_weights(shape), counts[data.WORDS]
    memory = pd.Series(data.memory_in_gb(total))
    labels = [f"{gb:,.1f} GB" if gb >= 1 else f"{1000 * gb:,.1f} MB" for gb in memory]
    key, values = formula(shape)

    def picture(revealed: bool) -> None:
        parts = marks.bars(
            counts,
            title="Parameters by part",
            hues=[data.PARTS.index(part) for part in counts.index],
            covered=not revealed,
            row=34,
        )
        bars = marks.bars(
            memory.rename(lambda name: name.replace(", ", "\n")),
            labels,
            title="Memory of the weights",
            hues=[2] * len(memory),
            covered=not revealed,
        )
        said = (describe(table), ", ".join(map(" ".join, zip(memory.index, labels, strict=True))))
        for place, chart, name, numbers in zip(
            columns((3, 2), in_present=1), (parts, bars), ("parts", "memory"), said, strict=False
        ):
            with place:
                show_chart(chart, f"sizes.{name}", f"The {name}", numbers if revealed else None)

    return View(
        Estimate(
            "rule",
            f"12·L·d² = 12·{shape.n_layers}·{shape.d_model:,}² = {rule:,}. What share of all parameters of this model is that?",
            0,
            1,
            rule / total,
            f"{rule:,} / {total:,} = {percent(rule / total, 2)}. "
            f"The token embeddings alone have {words:,}, {percent(words / total, 2)}.",
            0.05,
            "%",
        ),
        table := pd.DataFrame({"parameters": counts}),
        picture=picture,
        summary=f"{total:,} parameters: {labels[0]} in float32, {labels[1]} in float16. {shape.n_heads} heads of "
        f"{shape.d_model // shape.n_heads} numbers; the number of heads does not change the count.",
        preview=f"{shape.n_layers} layers of width {shape.d_model:,}, {shape.n_heads} heads, {shape.n_vocab:,} tokens, {shape.n_ctx:,} positions.",
        arrays={
            "parameters": counts.to_numpy(),
            "gigabytes": memory.to_numpy(),
            "megabytes": 1000 * memory.to_numpy(),
        },
        equations={key: values | {"P": f"{total:,}"}, "sizes.blocks": rule_of_thumb(shape)},
    )


CALCULATED = {
    "12·L·d² is poor for a small model and good for a large one": lambda p, models: (
        block_weights(models.shape) / sum(models.parts.values()) < 0.75
        and block_weights(RACE[LAST]) / models.total(LAST) > 0.99
    )
}


def thumbnail() -> str:
    """Draw the sizes of GPT-2."""
    names = list(GPT2)[1:]
    sizes = [count(GPT2[name]) for name in names]
    return thumbs.bars(sizes, [name.removeprefix("GPT-2 ") for name in names], marked=3)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(by_part, ("model",), promises=BY_PART),
        Step(variants, ("variant",), promises=VARIANTS_HOLD),
        Step(four_sizes, ("grown",), promises=FOUR_SIZES),
        Step(race, ("against", "plain"), promises=RACED),
        Step(
            calculator,
            ("ready", "layers", "width", "heads"),
            texts=("vocabulary", "context"),
            promises=CALCULATED,
        ),
    ),
    compute_fields=("layers", "width", "heads", "vocabulary", "context"),
    cost=800,
)
