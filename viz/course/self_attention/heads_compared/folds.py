"""What each step of the exhibit on the heads of a trained model puts into the folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from core.analysis.attention.measures import at_offset, distance, entropy, on_first
from core.analysis.heads.habits import WORDS
from viz.course.shared.shown import Shown
from viz.labels import distinct

GUESS = "Guess first: then the numbers are here."
LATER = pd.DataFrame({"": [GUESS]})
LOOKING = {
    "word": "The word with the arrow looks; every word has a bar, made of what each head gives to it, in the head's colour. A head gives away 1 in all, so all bars together are as long as "
    "there are heads. Heads count from 0 here, as in a trace; the equations count i = 1 to h. A large share says where a head looks, not why, and not that the model uses it. "
    "**Try** another layer: many heads only look at a neighbour, or rest on a separator such as [SEP] (attention sink).",
    "all": "Rows look (queries), columns are looked at (keys), in the order of the sentence. All maps have the same scale, so a pale map is a head that spreads its attention. A diagonal beside the main "
    "one is a positional habit: the word before, the next one. Masked cells have the colour of the ground.",
    "two": "A and B are patterns of the same words on the same scale; the third picture is their difference, blue where A gives more, orange where B does. A mean of heads looks like none of "
    "them: averaging them in a report, as `average_attn_weights=True` of PyTorch does, hides what they do.",
    "kinds": "A cell is the mean weight that a head gives to what the row names (to the word before, to the word that a pronoun means ...), over sentences of our own that were written to test it; "
    "“near-uniform” is the entropy as a share of the largest possible. A head is named by its strongest habit, if that is strong enough. **Look** at a head that found the right word on your sentence: "
    "over many sentences it often does not.",
    "off": "Zero-ablation: the head's output is replaced by zeros, which is the same as zeroing its rows of W_O; everything else runs on. A bar is by how many halvings (−) or doublings (+) the probability of "
    "everything the model says changes: −1 is half. Around the layer leads a residual connection, which carries the words past it, and other heads do similar work: often little is lost. The model never learned to do without a head, so a loss may also be confusion; that a word survives does not say that the head does nothing.",
}


def _code(params: Any, data: Any, more: str) -> str:
    target = ", target=''" if data.kind == "self" and data.model.startswith("translator") else ""
    return (
        f"import core\n\nmodel = core.open_model({data.model!r})\nrun = model.run({params.text!r}{target})\n"
        f"a = run.attention({data.kind!r}, by='word')\nweights = a.weights[{data.layer}]  # (head, query, key)\n" + more
    )


def _names(data: Any) -> list[str]:
    return distinct(word.strip() or word for word in data.words)


def _heads(data: Any) -> list[str]:
    return [f"H{head}" for head in range(len(data.weights))]


def of_a_word(params: Any, data: Any, told: bool) -> Shown:
    """The row of each head."""
    names, row = _names(data), data.weights[:, data.row].astype(float)
    frame = pd.DataFrame(np.round(row, 4), index=_heads(data), columns=names)
    numbers = tuple(
        rf"\text{{H}}{head}:\quad a_{{{data.row + 1},{int(each.argmax()) + 1}}} = {each.max():.4f},\quad \textstyle\sum_j a_{{{data.row + 1}j}} = {each.sum():.4f}" for head, each in enumerate(row)
    )
    return Shown(
        {"heads.query": {}, "self.weights": {}} if told else {}, numbers if told else (r"\text{" + GUESS + "}",), LOOKING["word"] if told else GUESS, lambda: frame if told else LATER,
        {"weights": row} if told else {}, _code(params, data, f"print(weights[:, {data.row}])  # from {names[data.row]!r}"),
    )  # fmt: skip


def of_all(params: Any, data: Any, bits: np.ndarray) -> Shown:
    """Each head in figures, on this sentence."""
    w = data.weights[None].astype(float)
    frame = pd.DataFrame({
        "entropy, nats": entropy(w)[0].mean(-1), "distance, words": distance(w)[0], "on the first": on_first(w)[0], "on the one before": at_offset(w, -1)[0],
        "on itself": at_offset(w, 0)[0],
    }, index=_heads(data)).round(3)  # fmt: skip
    numbers = (
        r"\mathrm{JSD}(a, b) = H\!\left(\tfrac{a + b}{2}\right) - \tfrac{1}{2}\left(H(a) + H(b)\right)",
        rf"\text{{the mean over all rows and pairs of heads: }} {float(bits[np.triu_indices(len(bits), 1)].mean() if len(bits) > 1 else 0):.3f} \text{{ bits}}",
    )
    more = "from core.analysis.heads.likeness import likeness\nprint(likeness(weights[0], weights[1], a.allowed[0, 0]).bits)"
    return Shown({"self.weights": {}}, numbers, LOOKING["all"], lambda: frame, {"weights": data.weights, "bits": bits}, _code(params, data, more))


def of_two(params: Any, data: Any, a: int, b: str, one: np.ndarray, other: np.ndarray) -> Shown:
    """The difference in numbers."""
    names = _names(data)
    frame = pd.DataFrame(np.round((one - other).astype(float), 4), index=names, columns=names)
    second = "weights.mean(0)" if b == "mean" else f"weights[{b}]"
    numbers = (rf"\max_{{ij}} |A_{{ij}} - B_{{ij}}| = {float(np.abs(one - other).max()):.4f}", r"\textstyle\sum_j (A_{ij} - B_{ij}) = 0 \text{ in every row: both add up to } 1")
    return Shown({"self.weights": {}}, numbers, LOOKING["two"], lambda: frame, {"a": one, "b": other, "difference": one - other}, _code(params, data, f"print(weights[{a}] - {second})"))


def of_kinds(params: Any, data: Any, rows: list[str], values: np.ndarray) -> Shown:
    """All measures of the layer."""
    frame = pd.DataFrame(np.round(values.astype(float), 4).astype(object), index=[WORDS[name] for name in rows], columns=_heads(data))
    frame.loc["named"] = [data.heads.word(data.layer, head) for head in range(len(data.weights))]
    numbers = (r"\text{habit} = \text{the mean of } a_{ij} \text{ over all rows } i \text{ with a } j \text{ of that kind}",)
    code = (
        "from core.analysis.heads.head_file import read_heads\nfrom core.checkpoints.manifest import shipped_folder\n\n"
        f"heads = read_heads(shipped_folder() / {data.model!r}).trained[{data.kind!r}]\n"
        f"for head in range({len(data.weights)}):\n    print(head, heads.word({data.layer}, head), round(heads.score({data.layer}, head), 2))"
    )
    return Shown({"self.weights": {}}, numbers, LOOKING["kinds"], lambda: frame.astype(str), {"habits": values}, code)


def without(params: Any, data: Any, found: Any, told: bool) -> Shown:
    """Every token without every head."""
    columns = [*_heads(data), "all"]
    after = np.concatenate([found.without[data.layer], found.bare[data.layer][None]])
    frame = pd.DataFrame(np.round(np.exp(after.T), 4), index=distinct(found.tokens), columns=columns)
    frame.insert(0, "as it is", np.round(np.exp(found.before), 4))
    factors = found.factors(data.layer)
    numbers = (
        r"\log_2 \frac{p(\text{said} \mid Z_i = 0)}{p(\text{said})} = \sum_t \log_2 \frac{p_t(Z_i = 0)}{p_t}",
        *(rf"\text{{without {name}: }} \log_2 {factor:.4g} = {np.log2(max(factor, 1e-30)):+.4f}" for name, factor in zip(columns, factors, strict=True)),
    )
    code = (
        f"import core\nfrom viz.course.self_attention.heads_compared.maths.removal import removal\n\nmodel = core.open_model({data.model!r})\nfound = removal(model, {params.text!r}, {data.kind!r})\n"
        f"print(found.factors({data.layer}))  # one number a head, then without all of the layer"
    )
    return Shown(
        {"heads.merge": {}} if told else {}, numbers if told else (r"\text{" + GUESS + "}",), LOOKING["off"] if told else GUESS, lambda: frame if told else LATER,
        {"before": found.before, "without": found.without, "bare": found.bare} if told else {}, code,
    )  # fmt: skip
