"""The steps of the exhibit on sizes: one model by part, BERT's variants, GPT-2's four sizes, the race."""

from __future__ import annotations

from collections.abc import Mapping
from math import log10
from typing import Any

import pandas as pd
import streamlit as st

from viz.course.gpt.sizes import charts as figures
from viz.course.gpt.sizes import maths as sizes
from viz.course.shared.shown import Shown
from viz.labels import percent
from viz.shell import state
from viz.widgets import controls, lesson, parts

SLUG = "sizes."
MODELS = ("BERT-Base", "BERT-Large", "TinyBERT", "GPT-2 small", "GPT-2 XL")
VARIANTS = tuple(name for name in sizes.BERTS if name != "BERT-Base")
GROWN = tuple(name for name in sizes.GPT2 if name != "GPT-2 small")
AGAINST = tuple(name for name in sizes.RACE if name != "GPT-3")
HUES = {part: hue for hue, part in enumerate(sizes.PARTS)}
OPTIONS = (sizes.WORDS, sizes.PLACES, sizes.ATTENTION, sizes.NETWORK)
GUESS = pd.DataFrame({"": ["Guess first: then the numbers are here."]})
LOOKING_PARTS = (
    "A bar is how many parameters one part of the model has. They are counted: a network of our own class with the published shape is built without memory, and its weights are sorted by what they are for. The **embedding matrix** has a "
    "row for each token; **attention** is four matrices in each layer, **feed-forward** two wide ones. The number of heads changes nothing, for the heads share the width."
)
LOOKING_VARIANTS = (
    "Each bar is a whole model, counted from its published shape; XLNet, which has no class here, by its closed form. ClinicalBERT and BioBERT are BERT-Base trained on other texts, with the vocabulary that keeps capital letters: other "
    "numbers in the weights, nearly as many of them. What Ghojogh and Ghodsi 2020 call small is small only beside BERT-Large."
)
LOOKING_GPT = (
    "Four models carry the name GPT-2; the size everyone quotes is that of the largest. Width enters the blocks as a square: twice the width makes four times the parameters of a layer. DistilGPT-2 has half the layers of the small one, but all "
    "of its embedding matrix."
)
LOOKING_RACE = (
    "Each dot is a model when it came out. On the logarithmic axis a step of the same height multiplies by ten; on the plain axis all models before the last two lie on the ground. The shapes are published, the numbers counted from them; "
    "for Turing-NLG we assume GPT-2's vocabulary and context, which its authors do not state."
)


def by_part(data: Any) -> Shown:
    """One model, part by part."""
    name = state.read(SLUG + "model", MODELS[0], state.one_of(MODELS))
    found, shape = data.counts[name], sizes.ALL[name]
    total, most = sum(found.values()), max(found, key=found.__getitem__)
    question, picture = st.container(), st.container()
    with question:
        told = lesson.predict(
            SLUG + "most", f"{name} has {total:,} parameters. In which part do most of them stand?", {part: found[part] for part in OPTIONS}, most,
            f"{most}: {found[most]:,}, that is {percent(found[most] / total)}. Attention has {found[sizes.ATTENTION]:,}, {percent(found[sizes.ATTENTION] / total)}.",
        )  # fmt: skip
    rows = [figures.Bar(part, n, f"{n:,}", HUES[part]) for part, n in found.items()]
    with picture:
        parts.show(figures.bars(rows, f"{name}: {shape.n_layers} layers, width {shape.d_model:,}, {shape.n_heads} heads", covered=not told), SLUG + "parts",
                   f"Parameters of {name} by part" + (": " + ", ".join(f"{part} {n:,}" for part, n in found.items()) if told else ", covered until you guess"))  # fmt: skip
    base, large = (data.total(each) for each in ("BERT-Base", "BERT-Large"))
    parts.numbers(f"BERT-Base: {base:,} counted, {_millions('BERT-Base')} stated. BERT-Large: {large:,} counted, {_millions('BERT-Large')} stated.")
    controls.segmented("Model", MODELS, SLUG + "model", MODELS[0], quiet=True)
    key, values = _formula(shape)
    return Shown({key: values}, (rf"{' + '.join(f'{n:,}' for n in found.values())} = {total:,}".replace(",", r"\,") if told else rf"P = {total:,}".replace(",", r"\,"),), LOOKING_PARTS,
                 lambda: pd.DataFrame({"parameters": found, "share": {part: percent(n / total, 2) for part, n in found.items()}}) if told else GUESS,
                 {"parameters": list(found.values())} if told else {}, code((name,)))  # fmt: skip


def variants(data: Any) -> Shown:
    """BERT and those named beside it."""
    name = state.read(SLUG + "variant", "RoBERTa", state.one_of(VARIANTS))
    own, base = data.total(name), data.total("BERT-Base")
    shape, first = sizes.BERTS[name], sizes.BERTS["BERT-Base"]
    question, picture = st.container(), st.container()
    with question:
        told = lesson.predict(
            SLUG + "smaller", f"{name}: smaller or larger than BERT-Base?", {"smaller": base, "larger": own}, "larger" if own > base else "smaller",
            f"{own:,} against {base:,}: {abs(own - base):,} {'more' if own > base else 'fewer'}. {shape.n_layers} layers of width {shape.d_model:,} with {shape.n_vocab:,} tokens, against {first.n_layers} of "
            f"{first.d_model:,} with {first.n_vocab:,}.",
        )  # fmt: skip
    order = list(sizes.BERTS) if told else sorted(sizes.BERTS)
    rows = [figures.Bar(each, data.total(each), f"{data.total(each):,}", 1 if each == "BERT-Base" else 0, weak=each not in (name, "BERT-Base")) for each in order]
    with picture:
        parts.show(figures.bars(rows, "Parameters of BERT and its variants", covered=not told, row=30), SLUG + "variants",
                   "Parameters: " + ", ".join(f"{each} {data.total(each):,}" for each in order) if told else "The models, their sizes covered until you guess")  # fmt: skip
    larger = [each for each in VARIANTS if data.total(each) > base]
    parts.numbers(f"BERT-Base has {base:,}; larger are {', '.join(larger)}, smaller the other {len(VARIANTS) - len(larger)}." if told else
                  f"BERT-Base has {base:,} parameters. The slides list RoBERTa with the smaller versions.")  # fmt: skip
    controls.pills("Compare with BERT-Base", VARIANTS, SLUG + "variant", "RoBERTa", quiet=True)
    key, values = _formula(shape)
    lines = () if shape.kind == "xlnet" else (rf"P = {own:,}".replace(",", r"\,"),)
    return Shown({key: values}, lines if told else (), LOOKING_VARIANTS, lambda: _table(data, sizes.BERTS) if told else GUESS,
                 {"parameters": [data.total(each) for each in sizes.BERTS]} if told else {}, code(tuple(sizes.BERTS)))  # fmt: skip


def gpt2(data: Any) -> Shown:
    """The sizes of GPT-2, from small to the chosen one."""
    name, small = state.read(SLUG + "grown", "GPT-2 XL", state.one_of(GROWN)), "GPT-2 small"
    shape, first = sizes.GPT2[name], sizes.GPT2[small]
    times = data.total(name) / data.total(small)
    question, picture = st.container(), st.container()
    with question:
        told = lesson.predict_number(
            SLUG + "times", f"{name} has {shape.n_layers} layers of width {shape.d_model:,}, {small} {first.n_layers} of width {first.d_model}. How many times as many parameters?", 0, 20, times,
            f"{data.total(name):,} / {data.total(small):,} = {times:.2f}. Layers × {shape.n_layers / first.n_layers:g}; the width enters squared, × {(shape.d_model / first.d_model) ** 2:.2f}; the embedding matrix grows with the width alone.",
            near=1.0, unit="times",
        )  # fmt: skip
    rows = [figures.Bar(f"{each}\n{one.n_layers} layers × {one.d_model:,}", data.total(each), f"{data.total(each):,}", weak=each not in (name, small)) for each, one in sizes.GPT2.items()]
    with picture:
        parts.show(figures.bars(rows, "The models named GPT-2", covered=not told, row=58 if lesson.presenting() else 46), SLUG + "gpt2",
                   "Parameters: " + ", ".join(f"{each} {data.total(each):,}" for each in sizes.GPT2) if told else "Layers and widths of GPT-2, sizes covered until you guess")  # fmt: skip
    close = [each for each in sizes.GPT2 if data.total(each) >= 1.45e9]
    parts.numbers(f"“GPT-2 has 1.5 billion parameters” holds for {len(close)} of {len(sizes.GPT2)}: {', '.join(close)} with {data.total(close[0]):,}." if told else
                  f"Ghojogh and Ghodsi 2020 say: GPT-2 has {sizes.GPT2['GPT-2 XL'].stated} billion parameters. {len(sizes.GPT2)} models have that name.")  # fmt: skip
    controls.segmented("Compare with the small one", GROWN, SLUG + "grown", "GPT-2 XL", quiet=True)
    key, values = _formula(shape)
    return Shown({key: values, "sizes.blocks": {"L": str(shape.n_layers), "d": f"{shape.d_model:,}", **({"B": f"{sizes.blocks(shape):,}"} if told else {})}}, (), LOOKING_GPT,
                 lambda: _table(data, sizes.GPT2) if told else GUESS, {"parameters": [data.total(each) for each in sizes.GPT2]} if told else {}, code(tuple(sizes.GPT2)))  # fmt: skip


def race(data: Any) -> Shown:
    """Sizes over the years, and how many of one fit into the last."""
    name, last = state.read(SLUG + "against", "GPT-2 XL", state.one_of(AGAINST)), "GPT-3"
    plain = state.read(SLUG + "plain", False, state.flag)
    times, months = data.total(last) / data.total(name), round(12 * (sizes.RACE[last].year - sizes.RACE[name].year))
    top = 10 ** len(str(int(times)))
    question, picture = st.container(), st.container()
    with question:
        told = lesson.predict_number(
            SLUG + "fit", f"{last} came {months} months after {name}. How many times as many parameters has it?", 0, top, times,
            f"{data.total(last):,} / {data.total(name):,} = {times:,.1f}: on the axis {log10(times):.2f} steps of ten.", near=top / 10, unit="times",
        )  # fmt: skip
    dots = [figures.Dot(each, one.year, data.total(each) / 1e9, _billions(data.total(each), one), strong=each in (name, last)) for each, one in sizes.RACE.items()]
    with picture:
        parts.show(figures.race(dots, logarithmic=not plain, covered=not told), SLUG + "race",
                   "Billions of parameters: " + ", ".join(f"{dot.name} {dot.value:.2f}" for dot in dots) if told else "When the models came out; their sizes are covered until you guess")  # fmt: skip
    stated = "; ".join(f"{each} {one.stated:g}" for each, one in sizes.RACE.items() if one.stated and one.stated >= 1)
    parts.numbers(f"Stated, in billions: {stated}. Counted: {last} {data.total(last):,}, of which 12·L·d² = {sizes.blocks(sizes.RACE[last]):,} in the blocks." if told else
                  f"{len(sizes.RACE)} models in {round(12 * (sizes.RACE[last].year - min(one.year for one in sizes.RACE.values())))} months. The dots come after your guess.")  # fmt: skip
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    with left:
        controls.segmented("Compare GPT-3 with", AGAINST, SLUG + "against", "GPT-2 XL", quiet=True)
    with right:
        controls.toggle("Plain axis", SLUG + "plain", False)
    shape = sizes.RACE[last]
    return Shown({"sizes.blocks": {"L": str(shape.n_layers), "d": f"{shape.d_model:,}", **({"B": f"{sizes.blocks(shape):,}"} if told else {})}}, (), LOOKING_RACE,
                 lambda: _table(data, sizes.RACE) if told else GUESS, {"parameters": [data.total(each) for each in sizes.RACE]} if told else {}, code(tuple(sizes.RACE)))  # fmt: skip


def code(names: tuple[str, ...]) -> str:
    """The lines that count again."""
    return f"from viz.course.gpt.sizes.maths import ALL, counted, total\n\nfor name in {names!r}:\n    print(name, f'{{total(ALL[name]):,}}', counted(ALL[name]))"


def _table(data: Any, shapes: Mapping[str, sizes.Shape]) -> pd.DataFrame:
    base = data.total("BERT-Base")
    return pd.DataFrame([
        {"model": name, "layers": one.n_layers, "width": one.d_model, "heads": one.n_heads, "inner": one.d_ff, "vocabulary": one.n_vocab, "parameters": f"{data.total(name):,}",
         "of BERT-Base": f"{data.total(name) / base:.2f}", "what changes": one.differs}
        for name, one in shapes.items()
    ]).set_index("model")  # fmt: skip


def _formula(shape: sizes.Shape) -> tuple[str, dict[str, str]]:
    """The equation of a kind of model, with its shape; XLNet is told by the one of BERT without numbers."""
    own = {"V": f"{shape.n_vocab:,}", "C": f"{shape.n_ctx:,}", "L": str(shape.n_layers), "d": f"{shape.d_model:,}"}
    if shape.kind == "gpt":
        return "sizes.gpt", own
    return "sizes.bert", {} if shape.kind == "xlnet" else own | {"S": str(shape.n_segments), "F": f"{shape.d_ff:,}"}


def _millions(name: str) -> str:
    return f"{1000 * (sizes.BERTS[name].stated or 0):.0f}M"


def _billions(count: int, shape: sizes.Shape) -> str:
    stated = f" ({shape.stated:g} stated)" if shape.stated and shape.stated >= 1 else ""
    return f"{count / 1e9:.3g}{stated}"

