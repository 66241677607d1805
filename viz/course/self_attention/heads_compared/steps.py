"""The steps of the exhibit on the heads of a trained model: each draws its question, its picture, its sentence, its control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st

from core.analysis.heads.habits import WORDS
from core.analysis.heads.likeness import likeness
from core.edits import ZeroHead
from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts.curves import number
from viz.course.self_attention.charts.bar_pairs import bar_pairs
from viz.course.self_attention.charts.head_grids import per_head
from viz.course.self_attention.heads_compared import folds
from viz.course.self_attention.heads_compared.charts import looks, maps
from viz.course.self_attention.heads_compared.maths import looking
from viz.course.self_attention.heads_compared.maths.removal import Removal, removal
from viz.course.shared.shown import Shown
from viz.instruments import heatmap
from viz.labels import distinct, head_name, literal, percent
from viz.shell import links
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

SLUG = "heads_compared."
MEAN = "mean"
ROWS = 8
"""Words whose bars have room above the control in Present."""
MANY = ("1", "2 or 3", "4 or more")
FACTORS = ("It falls to less than half", "It falls, to no less than half", "It hardly changes, by less than 10 %", "It rises")
SHORT = {"itself": "itself", "coreference": "pronoun's noun", "agreement": "verb's subject", "separator": "separator"}
"""Names of habits that are too long beside a picture."""
HABITS = ("previous", "itself", "next", "first", "coreference", "agreement", "separator", "punctuation", "spread")


def named(words: Sequence[str]) -> list[str]:
    """Words as options, without the white space before them, repeated ones told apart."""
    return distinct(word.strip() or word for word in words)


def one_word(params: Any, data: Any) -> Shown:
    """From one word, every head in its colour on the words it looks at."""
    names, row = named(data.words), data.row
    best = looking.favourites(data.weights, row)
    count, n_heads = len(set(best.tolist())), len(best)
    told = lesson.predict(
        f"{SLUG}first", f"Reading “{names[row]}”, each of {n_heads} heads has a favourite word. How many different ones?", MANY, MANY[0 if count == 1 else 1 if count < 4 else 2],
        f"{count}: " + ", ".join(f"“{names[j]}” by {_and([f'H{h}' for h in np.flatnonzero(best == j)])}" for j in dict.fromkeys(best.tolist())) + ".",
    )  # fmt: skip
    head = looking.pointing(data.weights, row)
    key = int(data.weights[head, row].argmax())
    total = data.weights[:, row].sum(0)
    seen = _most(total if told else data.weights[head, row], row) if lesson.presenting() else list(range(len(names)))
    parts.show(looks(data.weights[:, row][:, seen], [names[i] for i in seen], seen.index(row), only=None if told else head), f"{SLUG}looks",
               f"What each head gives to each word, reading {names[row]}." if told else f"What H{head} gives to each word, reading {names[row]}; the other heads when you have guessed.")  # fmt: skip
    parts.numbers(
        f"Reading “{names[row]}”, H{head} looks {percent(data.weights[head, row, key])} at “{names[key]}”. All {n_heads} heads together give “{names[int(total.argmax())]}” most: "
        f"{total.max():.2f} of {total.sum():.2f}." if told else f"This is one of the {n_heads} heads of layer {data.layer} of {data.model}: H{head} looks {percent(data.weights[head, row, key])} at “{names[key]}”. The others when you have guessed."
    )
    controls.pills("The word that looks", names, SLUG + "word", names[row])
    return folds.of_a_word(params, data, told)


def _most(total: np.ndarray, row: int) -> list[int]:
    """Before a room: the words that are looked at most, in the order of the sentence, and the word that looks."""
    return sorted({row, *np.argsort(-total, kind="stable")[:ROWS].tolist()})


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def all_heads(params: Any, data: Any) -> Shown:
    """Every head of the layer as a map on one scale."""
    names = named(data.words)
    figure = maps(data.weights, names, data.row, allowed=data.allowed, height=370 if lesson.presenting() else 470,
                  named=not lesson.presenting())  # fmt: skip
    parts.show(figure, f"{SLUG}maps", f"The {len(data.weights)} heads of layer {data.layer} as maps of {len(names)} by {len(names)} words, on one scale from 0 to 100 %.")
    bits = _apart(data)
    a, b = (int(i) for i in np.unravel_index(int(np.nanargmax(bits)), bits.shape)) if len(bits) > 1 else (0, 0)
    parts.numbers(
        f"{len(data.weights)} maps of {len(names)} × {len(names)}, each row adding up to 1. Largest Jensen-Shannon divergence: H{min(a, b)} and H{max(a, b)}: {number(float(bits[a, b]))} bits a row, "
        "where 0 is the same attention and 1 no word in common."
    )
    links.to("look", "Open them full size", view="full", model=data.model, text=params.text, kind=data.kind, layer=data.layer, head=a)
    return folds.of_all(params, data, bits)


def _apart(data: Any) -> np.ndarray:
    """Jensen-Shannon divergence of every pair of heads, in bits: (head, head)."""
    n = len(data.weights)
    found = np.zeros((n, n))
    for a in range(n):
        for b in range(a):
            found[a, b] = found[b, a] = likeness(data.weights[a], data.weights[b], data.allowed[a]).bits
    return np.nan_to_num(found)


def two_heads(params: Any, data: Any) -> Shown:
    """A, B and A - B; B may be the mean of all heads."""
    names, n = named(data.words), len(data.weights)
    top = st.container()
    first = looking.pointing(data.weights, data.row)
    bits = _apart(data)
    left, right = st.columns([5, 6], gap="medium")  # B has one choice more
    with left:
        a = controls.pills("A", range(n), SLUG + "a", first, lambda head: f"H{head}")
    with right:
        b = controls.pills("B", (*map(str, range(n)), MEAN), SLUG + "b", str(int(bits[a].argmax())), lambda head: "mean of all" if head == MEAN else f"H{head}")
    one, other = data.weights[a], data.weights.mean(0) if b == MEAN else data.weights[int(b)]
    called = "the mean" if b == MEAN else f"H{b}"
    alike = likeness(one, other, data.allowed[a])
    with top:
        height = 250 if lesson.presenting() else 300
        panes = ((one, f"A: H{a}", "pattern"), (other, f"B: {called}", "pattern"), (one - other, "A − B", "difference"))
        for column, (values, title, scale) in zip(st.columns(3, gap="small"), panes, strict=True):
            with column:
                more: dict[str, Any] = {"limit": 1.0} if scale == "difference" else {}
                heatmap(values, names, names, key=f"{SLUG}pane.{title[0]}{scale}", title=title, scale=scale, allowed=data.allowed[a], axis=("word", "looks at"), height=height,
                        group="heads_compared", **more)  # fmt: skip
        at = np.unravel_index(int(np.abs(one - other).argmax()), one.shape)
        gap = float((one - other)[at])
        parts.numbers(
            f"They differ most where “{names[at[0]]}” looks at “{names[at[1]]}”: H{a} gives {percent(one[at])}, {called} {percent(other[at])}, a difference of {number(gap)}. "
            f"The mean Jensen-Shannon divergence of a row is {number(alike.bits)} bits (maximum 1); the correlation of all weights is {number(alike.correlation)}."
            if np.isfinite(alike.correlation) else f"H{a} and {called} differ by {number(abs(gap))} at most."
        )  # fmt: skip
    return folds.of_two(params, data, a, b, one, other)


def kinds(params: Any, data: Any) -> Shown:
    """Measured habits of the heads of this layer over our sentences."""
    if data.heads is None:
        raise InputError(f"The heads of {data.model} were not measured.", "Habits are measured over many sentences and shipped with a model.", "Choose another model.")
    heads, layer, n = data.heads, data.layer, len(data.weights)
    rows = [name for name in HABITS if name in heads.scores]
    values = np.array([heads.scores[name][layer] for name in rows])
    head, names = looking.pointing(data.weights, data.row), named(data.words)
    key = int(data.weights[head, data.row].argmax())
    habit = heads.scores["coreference"][layer] if "coreference" in heads.scores else np.zeros(n)
    left, right = st.columns(2, gap="medium")
    with left:
        heatmap(values, [SHORT.get(name, WORDS[name]) for name in rows], [f"H{h}" for h in range(n)], key=f"{SLUG}kinds", numbers=True, axis=("habit", "head"),
                height=210 if lesson.presenting() else 330, title=f"Over {heads.n} sentences")  # fmt: skip
    with right:
        here = (f"here: “{names[data.row]}” at “{names[key]}”", "in the test: pronouns at what they mean")
        figure = bar_pairs(
            np.stack([data.weights[:, data.row, key], habit], 1), [f"H{h}" for h in range(n)], here, "One sentence against all pronouns of the test",
            height=450 if lesson.presenting() else 460, least=0.1 if lesson.presenting() else 0.0,  # numbers of two short bars would overlap
        )  # fmt: skip
        parts.show(figure, f"{SLUG}kinds.bars", "For each head the weight on one word of this sentence, and the mean weight of pronouns on what they mean.")
    told = [f"H{h} {heads.word(layer, h)}" for h in range(n)]
    parts.numbers(
        f"{'; '.join(told)}. Here H{head} looks {percent(data.weights[head, data.row, key])} from “{names[data.row]}” to “{names[key]}”; over all pronouns of the test it gives "
        f"{percent(habit[head])} to what they mean. One sentence does not make a kind."
    )
    links.to("find", "Find heads of a kind in all models", model=data.model, text=params.text, kind=data.kind, layer=layer, head=head)
    return folds.of_kinds(params, data, rows, values)


def without(params: Any, data: Any) -> Shown:
    """Each head off by itself, and all of the layer together: how probable is what the model says?"""
    found: Removal = ask.submit(("heads_compared.off", params.model, params.text, data.kind), lambda: removal(default().open(params.model), params.text, data.kind), 400 * len(params.text))
    factors, names, n = found.factors(data.layer), named(data.words), len(data.weights)
    head = looking.pointing(data.weights, data.row)
    key = int(data.weights[head, data.row].argmax())
    what = "the translation" if found.target is not None else "the words of the sentence"
    factor = float(factors[head])
    answer = FACTORS[0 if factor < 0.5 else 1 if factor <= 0.9 else 2 if factor < 1.1 else 3]
    best = int(factors[:n].argmin())
    told = lesson.predict(
        f"{SLUG}off", f"Reading “{names[data.row]}”, H{head} looks {percent(data.weights[head, data.row, key])} at “{names[key]}”. Without it: the probability of {what}?",
        FACTORS, answer, f"It is multiplied by {factor:.3f}; without H{best}, missed most, by {factors[best]:.3f}; without all {n} at once by {factors[n]:.3g}.",
    )  # fmt: skip
    picture = st.container()
    off = controls.pills("Switch off", (*range(n), n), SLUG + "off", best, lambda h: f"all {n}" if h == n else f"H{h}")
    with picture:
        logs = np.log2(np.maximum(factors, 1e-30))
        room = lesson.presenting()
        figure = per_head(
            logs if told else np.zeros(n + 1), [*(f"without H{h}" for h in range(n)), f"without all {n}"], heads=[*range(n), -1],
            number="{:+.3f}" if told else "?", title="" if room else "doublings (+) and halvings (−) of its probability", marks={-1.0: "half", 0.0: "the same", 1.0: "double"},
        )  # fmt: skip
        parts.show(figure, f"{SLUG}off.picture", "A bar a head: by how many doublings or halvings the probability changes without it." if told else "Covered until you guess.")
        parts.numbers(_lost(params, data, found, off) if told else f"{data.model} says {len(found.tokens)} tokens. Guess first, then each head is switched off.")
    place = head_name(data.layer, min(off, n - 1))
    links.to("what_if", f"Switch {place} off in What if", model=data.model, text=params.text, kind=data.kind, layer=data.layer, head=min(off, n - 1))
    return folds.without(params, data, found, told)


def _lost(params: Any, data: Any, found: Removal, off: int) -> str:
    """The token that suffers most, and what a translator then writes."""
    n = len(data.weights)
    after = found.bare[data.layer] if off == n else found.without[data.layer, off]
    worst = int((after - found.before).argmin())
    called = f"all {n} heads of the layer" if off == n else f"H{off}"
    said = f"Without {called} the token hit most is “{found.tokens[worst].strip()}”: from {percent(np.exp(found.before[worst]), 2)} to {percent(np.exp(after[worst]), 2)}."
    layers = ", ".join(f"L{layer} {found.factors(layer)[n]:.2g}" for layer in range(data.n_layers))
    said += f" All heads of one layer off, the probability is multiplied by: {layers}."
    if found.target is None:
        return said
    path = default().open(params.model).spec.kind(data.kind).path(data.layer, "heads")
    edits = tuple(ZeroHead(path, head) for head in (range(n) if off == n else [off]))
    written = ask.submit(("heads_compared.written", params.model, params.text, edits), lambda: default().run(RunRequest(params.model, params.text, keep=(), edits=edits)).target_text, 20 * len(params.text))
    return said + (" It writes the same translation." if written == found.target else f" It now writes “{written}”")


def deeper(params: Any, data: Any) -> None:
    """The pages for free work that go on from here."""
    head = looking.pointing(data.weights, data.row)
    here = {"model": data.model, "text": params.text, "kind": data.kind, "layer": data.layer, "head": head}
    st.markdown(f"**Go deeper** with {literal(head_name(data.layer, head))} of {literal(data.model)}:")
    with st.container(horizontal=True, gap="medium"):
        links.to("look", "Look", view="full", **here)
        links.to("compare", "Compare", **here)
        links.to("what_if", "What if", **here)
        links.to("importance", "What matters", **here)
        links.to("find", "Find heads", **here)


SHOWN: tuple[Callable[[Any, Any], Shown], ...] = (one_word, all_heads, two_heads, kinds, without)
