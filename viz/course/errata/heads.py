"""Several heads: parallel, not in a row; projected first, then split; their outputs merged, not their scores."""

from __future__ import annotations

import torch
from torch import Tensor

from core import masks
from core.layers.attention import MultiHeadAttention
from core.trace import Recorder
from viz.course.errata._draws import filled, gap, tensor
from viz.course.errata.entry import Array, Evidence, Panel, erratum
from viz.languages import _
from viz.number_text import small_difference

N_WORDS, N_HEADS, HEAD, PAIR = 5, 4, 1, (2, 4)
"""Index of the head that is re-initialised, and the pair of words whose score is observed, counted from 1."""


def _run_attention(attend: MultiHeadAttention, x: Tensor) -> dict[str, Tensor]:
    """Return scores, pattern, heads and output of self-attention of x (1 pos d_model)."""
    tap = Recorder()
    attend(x, x, masks.full(x.shape[1], x.shape[1]), tap)
    trace = tap.close()
    return {name: trace[name] for name in ("q", "scores", "pattern", "heads", "out")}


@erratum("E15")
def side_by_side() -> Evidence:
    x, width = tensor(1, N_WORDS, 12), 12 // N_HEADS
    attend = filled(MultiHeadAttention(12, N_HEADS))
    before = _run_attention(attend, x)
    other = filled(MultiHeadAttention(12, N_HEADS))
    fresh = filled(MultiHeadAttention(12, N_HEADS), start=1)
    for mine, drawn in zip(
        (other.to_q, other.to_k, other.to_v), (fresh.to_q, fresh.to_k, fresh.to_v), strict=True
    ):
        mine.weight[(HEAD - 1) * width : HEAD * width] = drawn.weight[(HEAD - 1) * width : HEAD * width]
    after = _run_attention(other, x)
    others = [i for i in range(N_HEADS) if i != HEAD - 1]
    first = gap(before["heads"][:, HEAD - 1], after["heads"][:, HEAD - 1])
    rest = gap(before["heads"][:, others], after["heads"][:, others])
    permuted = _permuted(attend, x, before["out"], width)
    seen = _score_gradients(x)
    touched = (seen > 0).sum(1)
    n, pairs = before["pattern"].shape[-1], N_WORDS**2
    numbers = {
        "first": first,
        "rest": rest,
        "permuted": permuted,
        "rows": float(n),
        "pairs": float(pairs),
        "layer_1": float(touched[0]),
        "layer_2": float(touched[1]),
    }
    sentence = _(
        "{n_heads} heads, {n} words: drawing head {head} anew changes it by {first:.2f} and the other heads by {rest}. Putting the heads in another order, together with their columns of W_O, changes the output by {permuted}. Each head has {n} × {n} weights; pairs would need {pairs} × {pairs}. The score of words {one} and {other} depends on {below} words in the first layer and on {above} in the layer above it.",
        n_heads=N_HEADS,
        n=n,
        head=HEAD,
        first=first,
        rest=small_difference(rest),
        permuted=small_difference(permuted),
        pairs=pairs,
        one=PAIR[0],
        other=PAIR[1],
        below=touched[0],
        above=touched[1],
    )
    words = tuple(_("word {i}", i=i + 1) for i in range(N_WORDS))
    share = seen / seen.max(1, keepdims=True)
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _(
                    "What the score of words {one} and {other} depends on",
                    one=PAIR[0],
                    other=PAIR[1],
                ),
                share,
                (_("layer 1"), _("layer 2")),
                words,
                "weights",
            ),
        ),
    )


def _permuted(attend: MultiHeadAttention, x: Tensor, out: Tensor, width: int) -> float:
    """Return the change of the output when the heads are permuted together with their columns of W_O."""
    order = torch.arange(attend.n_heads).flip(0)
    places = (order[:, None] * width + torch.arange(width)).flatten()
    turned = filled(MultiHeadAttention(attend.n_heads * width, attend.n_heads))
    for mine, given in ((turned.to_q, attend.to_q), (turned.to_k, attend.to_k), (turned.to_v, attend.to_v)):
        mine.weight.copy_(given.weight[places])
        mine.bias.copy_(given.bias[places])
    turned.to_out.load_state_dict({"weight": attend.to_out.weight[:, places], "bias": attend.to_out.bias})
    return gap(_run_attention(turned, x)["out"], out)


def _score_gradients(x: Tensor) -> Array:
    """Return the size of the derivative of one score, that of the `PAIR`, by each word, in layer 1 and layer 2: (layer, word)."""
    with torch.inference_mode(False), torch.enable_grad():
        given = x.clone().requires_grad_()
        layers = [filled(MultiHeadAttention(12, N_HEADS), start=start) for start in (2, 3)]
        low = _run_attention(layers[0], given)
        high = _run_attention(layers[1], given + low["out"])
        rows = []
        for found in (low, high):
            (slope,) = torch.autograd.grad(
                found["scores"][0, 0, PAIR[0] - 1, PAIR[1] - 1], given, retain_graph=True
            )
            rows.append(slope[0].norm(dim=-1))
        return torch.stack(rows).numpy()


@erratum("E30")
def project_then_split() -> Evidence:
    d, h = 16, 4
    piece = d // h
    attend, x = filled(MultiHeadAttention(d, h, bias=False)), tensor(1, N_WORDS, d)
    right = _run_attention(attend, x)["q"][0, HEAD - 1]
    weight = attend.to_q.weight
    rows = slice((HEAD - 1) * piece, HEAD * piece)
    printed = x[0, :, rows] @ weight[rows, rows].T
    numbers = {"gap": gap(printed, right), "whole": float(weight.numel()), "pieces": float(h * piece * piece)}
    sentence = _(
        "d = {d}, {h} heads: the query of head {head} made from the whole word and the one made from its part of {piece} features differ by up to {gap:.2f}. Projecting the whole word takes {weight_size} weights, projecting parts {parts_size}.",
        d=d,
        h=h,
        head=HEAD,
        piece=piece,
        gap=numbers["gap"],
        weight_size=weight.numel(),
        parts_size=h * piece * piece,
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(
                _("Weights of one projection"),
                [[weight.numel()], [h * piece * piece]],
                (_("project, then split"), _("split, then project")),
                (_("weights"),),
                "bars",
                0,
            ),
        ),
    )


@erratum("E31")
def outputs_merged() -> Evidence:
    d = 16
    attend, x = filled(MultiHeadAttention(d, N_HEADS)), tensor(1, N_WORDS, d)
    found = _run_attention(attend, x)
    values = attend.split(attend.to_v(x))
    common = found["scores"].mean(1, keepdim=True).softmax(-1).expand_as(found["scores"]) @ values
    apart = gap(attend.to_out(attend.merge(common)), found["out"])
    shapes = {name: tuple(found[name].shape) for name in ("scores", "heads", "out")}
    numbers = {
        "gap": apart,
        "score_axes": float(len(shapes["scores"])),
        "merged_axes": float(len(shapes["out"])),
    } | {f"{name}_{axis}": float(size) for name, shape in shapes.items() for axis, size in enumerate(shape)}
    sentence = _(
        "Recorded in the layer itself: scores {shapes_scores}, outputs of the heads {shapes_heads}, merged {shapes_out}. The scores keep the axis of the {n_heads} heads to the end. With one common score, their mean, the output would be {apart:.2f} away.",
        shapes_scores=shapes["scores"],
        shapes_heads=shapes["heads"],
        shapes_out=shapes["out"],
        n_heads=N_HEADS,
        apart=apart,
    )
    return Evidence(numbers, sentence)
