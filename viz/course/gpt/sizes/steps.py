"""The steps of the exhibit on sizes: one model by part, BERT's variants, GPT-2's four sizes, the race."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log10

import pandas as pd

from viz.course.gpt.sizes import charts, maths
from viz.course.gpt.sizes.params import SLUG, VARIANTS, Data, Params
from viz.course.lesson import Folds
from viz.labels import list_values, percent
from viz.widgets import exhibit_parts, page_parts

HUES = {part: hue for hue, part in enumerate(maths.PARTS)}
OPTIONS = (maths.WORDS, maths.PLACES, maths.ATTENTION, maths.NETWORK)


def by_part(params: Params, data: Data) -> Folds:
    """One model, part by part."""
    name = params.model
    found, shape = data.counts[name], maths.ALL[name]
    total, most = sum(found.values()), max(found, key=found.__getitem__)
    told = exhibit_parts.predict(
        SLUG + "most",
        f"{name} has {total:,} parameters. Which part has most of them?",
        {part: found[part] for part in OPTIONS},
        most,
        f"{most}: {found[most]:,}, that is {percent(found[most] / total)}. Attention has {found[maths.ATTENTION]:,}, {percent(found[maths.ATTENTION] / total)}.",
    )
    rows = [charts.Bar(part, n, f"{n:,}", HUES[part]) for part, n in found.items()]
    page_parts.show(
        charts.bars(
            rows,
            f"{name}: {shape.n_layers} layers, width {shape.d_model:,}, {shape.n_heads} heads",
            covered=not told,
            row=exhibit_parts.by_mode(38, 54),
        ),
        SLUG + "parts",
        f"Parameters of {name} by part"
        + (": " + list_values(found, "{:,}") if told else ", covered until you guess"),
    )
    base, large = (data.total(each) for each in ("BERT-Base", "BERT-Large"))
    page_parts.summary(
        f"BERT-Base: {base:,} counted, {_millions('BERT-Base')} stated. BERT-Large: {large:,} counted, {_millions('BERT-Large')} stated."
    )
    key, values = formula(shape)
    return Folds(
        lambda: pd.DataFrame(
            {"parameters": found, "share": {part: percent(n / total, 2) for part, n in found.items()}}
        ),
        {"parameters": list(found.values())},
        {"names": (name,)},
        told,
        {key: values},
        latex=(f"{' + '.join(f'{n:,}' for n in found.values())} = {total:,}".replace(",", r"\,"),),
    )


def variants(params: Params, data: Data) -> Folds:
    """BERT and those named beside it."""
    name = params.variant
    own, base = data.total(name), data.total("BERT-Base")
    shape, first = maths.BERTS[name], maths.BERTS["BERT-Base"]
    told = exhibit_parts.predict(
        SLUG + "smaller",
        f"{maths.shown(name)}: smaller or larger than BERT-Base?",
        {"smaller": base, "larger": own},
        "larger" if own > base else "smaller",
        f"{own:,} against {base:,}: {abs(own - base):,} {'more' if own > base else 'fewer'}. {shape.n_layers} layers of width {shape.d_model:,} with {shape.n_vocab:,} tokens, against {first.n_layers} of "
        f"{first.d_model:,} with {first.n_vocab:,}.",
    )
    order = list(maths.BERTS) if told else sorted(maths.BERTS)
    rows = [
        charts.Bar(
            maths.shown(each),
            data.total(each),
            f"{data.total(each):,}",
            1 if each == "BERT-Base" else 0,
            weak=each not in (name, "BERT-Base"),
        )
        for each in order
    ]
    page_parts.show(
        charts.bars(
            rows, "Parameters of BERT and its variants", covered=not told, row=exhibit_parts.by_mode(30, 32)
        ),
        SLUG + "variants",
        "Parameters: " + ", ".join(f"{maths.shown(each)} {data.total(each):,}" for each in order)
        if told
        else "The models, their sizes covered until you guess",
    )
    larger = [each for each in VARIANTS if data.total(each) > base]
    page_parts.summary(
        f"BERT-Base has {base:,}; larger are {', '.join(larger)}, smaller the other {len(VARIANTS) - len(larger)}."
        if told
        else f"BERT-Base has {base:,} parameters. The slides list RoBERTa with the smaller versions."
    )
    key, values = formula(shape)
    lines = () if shape.kind == "xlnet" else (rf"P = {own:,}".replace(",", r"\,"),)
    return Folds(
        *_counted(data, maths.BERTS),
        told,
        {key: values},
        latex=lines,
    )


def gpt2(params: Params, data: Data) -> Folds:
    """The sizes of GPT-2, from small to the chosen one."""
    name, small = params.grown, "GPT-2 small"
    shape, first = maths.GPT2[name], maths.GPT2[small]
    times = data.total(name) / data.total(small)
    told = exhibit_parts.predict_number(
        SLUG + "times",
        f"{name} has {shape.n_layers} layers of width {shape.d_model:,}, {small} {first.n_layers} of width {first.d_model}. How many times as many parameters does {name} have?",
        0,
        20,
        times,
        f"{data.total(name):,} / {data.total(small):,} = {times:.2f}. Layers × {shape.n_layers / first.n_layers:g}; the width enters squared, × {(shape.d_model / first.d_model) ** 2:.2f}; the embedding matrix grows with the width alone.",
        near=1.0,
        unit="times",
    )
    rows = [
        charts.Bar(
            f"{each}\n{one.n_layers} layers × {one.d_model:,}",
            data.total(each),
            f"{data.total(each):,}",
            weak=each not in (name, small),
        )
        for each, one in maths.GPT2.items()
    ]
    page_parts.show(
        charts.bars(rows, "The models named GPT-2", covered=not told, row=exhibit_parts.by_mode(46, 58)),
        SLUG + "gpt2",
        "Parameters: " + ", ".join(f"{each} {data.total(each):,}" for each in maths.GPT2)
        if told
        else "Layers and widths of GPT-2, sizes covered until you guess",
    )
    close = [each for each in maths.GPT2 if data.total(each) >= 1.45e9]
    page_parts.summary(
        f"“GPT-2 has 1.5 billion parameters” holds for {len(close)} of {len(maths.GPT2)}: {', '.join(close)} with {data.total(close[0]):,}."
        if told
        else f"Ghojogh and Ghodsi 2020 say: GPT-2 has {maths.GPT2['GPT-2 XL'].stated} billion parameters. {len(maths.GPT2)} models have that name."
    )
    key, values = formula(shape)
    return Folds(
        *_counted(data, maths.GPT2),
        told,
        {
            key: values,
            "sizes.blocks": blocks(shape),
        },
    )


def race(params: Params, data: Data) -> Folds:
    """Sizes over the years, and how many of one fit into the last."""
    name, last = params.against, "GPT-3"
    plain = params.plain
    times = data.total(last) / data.total(name)
    top = 10 ** len(str(int(times)))
    told = exhibit_parts.predict_number(
        SLUG + "fit",
        f"{last} was published {maths.months(name, last):g} months after {name}. How many times as many parameters does it have?",
        0,
        top,
        times,
        f"{data.total(last):,} / {data.total(name):,} = {times:,.1f}: on the logarithmic axis {log10(times):.2f} powers of ten.",
        near=top / 10,
        unit="times",
    )
    dots = [
        charts.Dot(
            each,
            _year(each),
            data.total(each) / 1e9,
            _billions(data.total(each), one),
            strong=each in (name, last),
        )
        for each, one in maths.RACE.items()
    ]
    page_parts.show(
        charts.race(dots, logarithmic=not plain, covered=not told),
        SLUG + "race",
        "Billions of parameters: " + ", ".join(f"{dot.name} {dot.value:.2f}" for dot in dots)
        if told
        else "When the models were published; their sizes are covered until you guess",
    )
    stated = "; ".join(
        f"{each} {one.stated:g}" for each, one in maths.RACE.items() if one.stated and one.stated >= 1
    )
    page_parts.summary(
        f"Stated, in billions: {stated}. Counted: {last} {data.total(last):,}, of which 12·L·d² = {maths.blocks(maths.RACE[last]):,} in the blocks."
        if told
        else f"{len(maths.RACE)} models in {maths.months('BERT-Base', last):g} months. The dots come after your guess."
    )
    shape = maths.RACE[last]
    return Folds(
        *_counted(data, maths.RACE),
        told,
        {"sizes.blocks": blocks(shape)},
    )


def _year(name: str) -> float:
    """When a model was published, as a part of a year."""
    day = maths.PUBLISHED[name]
    return day.year + (day - day.replace(month=1, day=1)).days / 365


def _counted(
    data: Data, shapes: Mapping[str, maths.Shape]
) -> tuple[Callable[[], pd.DataFrame], dict[str, list[int]], dict[str, tuple[str, ...]]]:
    """Table, arrays and names for the lines of Python of some models."""
    totals = [data.total(name) for name in shapes]
    return lambda: _table(data, shapes), {"parameters": totals}, {"names": tuple(shapes)}


def _table(data: Data, shapes: Mapping[str, maths.Shape]) -> pd.DataFrame:
    base = data.total("BERT-Base")
    return pd.DataFrame(
        [
            {
                "model": name,
                "layers": one.n_layers,
                "width": one.d_model,
                "heads": one.n_heads,
                "inner": one.d_ff,
                "vocabulary": one.n_vocab,
                "parameters": f"{data.total(name):,}",
                "of BERT-Base": f"{data.total(name) / base:.2f}",
                "what changes": one.differs,
            }
            for name, one in shapes.items()
        ]
    ).set_index("model")


def blocks(shape: maths.Shape) -> dict[str, str]:
    """The values of the rule 12 L d^2."""
    return {"L": str(shape.n_layers), "d": f"{shape.d_model:,}", "B": f"{maths.blocks(shape):,}"}


def formula(shape: maths.Shape) -> tuple[str, dict[str, str]]:
    """The equation of a kind of model, with its shape; XLNet is told by the one of BERT without numbers."""
    own = {
        "V": f"{shape.n_vocab:,}",
        "C": f"{shape.n_ctx:,}",
        "L": str(shape.n_layers),
        "d": f"{shape.d_model:,}",
    }
    if shape.kind == "gpt":
        return "sizes.gpt", own
    more = own | {"S": str(shape.n_segments), "F": f"{shape.d_ff:,}"}
    if shape.kind == "albert":
        return "sizes.albert", more | {"E": str(shape.embed)}
    return "sizes.bert", {} if shape.kind == "xlnet" else more


def _millions(name: str) -> str:
    return f"{1000 * (maths.BERTS[name].stated or 0):.0f}M"


def _billions(count: int, shape: maths.Shape) -> str:
    stated = f" ({shape.stated:g} stated)" if shape.stated and shape.stated >= 1 else ""
    return f"{count / 1e9:.3g}{stated}"
