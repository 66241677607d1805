"""Sizes of the models that the documents name: our own classes, closed forms, and the numbers of the course."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn

import core
from core.analysis.diagram_nodes import boxes, count_parameters, parameter_count, tensor_at
from core.errors import InputError
from viz.course.errata._counts import bert, gpt
from viz.course.gpt.sizes import data
from viz.course.shared import cross_shapes, sizes
from viz.course.shared.sizes import Sizes
from viz.course.transformer.complexity import maths

EXACT = {
    "ALBERT-Base": 11_683_584,
    "ALBERT-Large": 17_683_968,
    "BERT-Base": 109_482_240,
    "BERT-Large": 335_141_888,
    "DistilBERT": 66_362_880,
    "RoBERTa": 124_645_632,
    "TinyBERT": 14_350_248,
    "XLNet": 116_718_336,
    "BioBERT": 108_310_272,
    "GPT-2 small": 124_439_808,
    "GPT-2 medium": 354_823_168,
    "GPT-2 large": 774_030_080,
    "GPT-2 XL": 1_557_611_200,
    "DistilGPT-2": 81_912_576,
    "GPT-3": 174_604_259_328,
}


def test_counted_parts_are_those_of_the_closed_form_and_sum_to_the_numbers_of_the_course():
    for name, shape in data.ALL.items():
        assert data.count_by_part(shape) == data.closed_form(shape), name
    assert {name: data.count(data.ALL[name]) for name in EXACT} == EXACT
    assert data.count(data.BERTS["BERT-Base"]) == bert() and data.count(data.GPT2["GPT-2 small"]) == gpt()
    assert [EXACT[name] for name in data.BERTS if name in EXACT] == sorted(
        EXACT[name] for name in data.BERTS if name in EXACT
    )


def test_the_formula_of_gpt_2_as_printed():
    for shape in data.GPT2.values():
        v, c, n, d = shape.n_vocab, shape.n_ctx, shape.n_layers, shape.d_model
        assert data.count(shape) == v * d + c * d + n * (12 * d * d + 13 * d) + 2 * d
    assert data.block_weights(data.RACE["GPT-3"]) == 173_946_175_488
    assert round(data.count(data.RACE["Megatron-LM"]) / 1e9, 1) == 8.3
    assert round(data.count(data.RACE["Turing-NLG"]) / 1e9, 1) == 17.2


def test_heads_change_no_count_and_must_share_the_width():
    assert data.count(data.Shape(n_heads=3)) == data.count(data.Shape(n_heads=12))
    with pytest.raises(core.InputError, match="5 heads"):
        data.count_by_part(data.Shape(n_heads=5))


def test_memory_is_bytes_times_parameters():
    assert list(data.memory_in_gb(EXACT["GPT-3"]).values()) == pytest.approx(
        [698.417, 349.2085, 2793.668], rel=1e-5
    )


# ---------------- What a layer costs: the numbers of the table, loops that count, the way through a chain, a run that was recorded.


class Count:
    """Multiplies, and counts how often."""

    def __init__(self):
        self.n = 0

    def dot(self, a, b) -> float:
        total = 0.0
        for x, y in zip(a, b, strict=True):
            self.n += 1
            total += x * y
        return total

    def product(self, matrix, vector) -> list[float]:
        return [self.dot(row, vector) for row in matrix]


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape)


@pytest.mark.parametrize(("n", "p"), [(3, 5), (7, 2), (4, 4)])
def test_loops_that_count_their_multiplications_agree_with_the_table(n, p):
    """C079: the scores n^2 p, the recurrence n p^2, and everything with projections and gates."""
    x = drawn(n, p)
    scores = Count()
    table = [[scores.dot(query, key) for key in x] for query in x]
    assert scores.n == maths.attention(n, p).operations and np.allclose(table, x @ x.T)
    state, chain, steps = np.zeros(p), Count(), 0
    for word in x:
        state = np.tanh(np.array(chain.product(drawn(p, p), state)) + word)
        steps += 1
    assert chain.n == maths.recurrence(n, p).operations and steps == maths.recurrence(n, p).steps
    whole = Count()
    q, k, v = ([whole.product(drawn(p, p), word) for word in x] for _ in "qkv")
    weights = [[whole.dot(a, b) for b in k] for a in q]
    mixed = [[whole.dot(row, column) for column in zip(*v, strict=True)] for row in weights]
    _ = [whole.product(drawn(p, p), row) for row in mixed]
    assert whole.n == maths.attention(n, p, count_all=True).operations
    gates = Count()
    for word in x:
        for _ in range(4):
            gates.product(drawn(p, p), word)
            gates.product(drawn(p, p), state)
    assert gates.n == maths.recurrence(n, p, count_all=True).operations


def test_the_numbers_that_the_documents_ask_for():
    """E18: cheaper while n < p, equal at n = p, dearer beyond."""
    assert (maths.attention(50, 512).operations, maths.recurrence(50, 512).operations) == (
        1_280_000,
        13_107_200,
    )
    assert maths.attention(512, 512).operations == maths.recurrence(512, 512).operations
    assert (
        maths.attention(4096, 512).operations == 8_589_934_592 == 8 * maths.recurrence(4096, 512).operations
    )
    for p in (32, 512):
        for whole in (False, True):
            n = maths.crossing(p, count_all=whole)
            below, above = (
                (
                    maths.attention(at, p, count_all=whole).operations,
                    maths.recurrence(at, p, count_all=whole).operations,
                )
                for at in (n - 1, n + 1)
            )
            assert below[0] < below[1] and above[0] > above[1]


def test_the_longest_path_is_what_a_search_in_the_graph_finds():
    for n in (2, 5, 9):
        chain = {i: [i + 1] for i in range(n - 1)} | {n - 1: []}
        everyone = {i: [j for j in range(n) if j != i] for i in range(n)}
        assert farthest(chain, 0) == maths.recurrence(n, 4).path
        assert farthest(everyone, 0) == maths.attention(n, 4).path


def farthest(graph: dict[int, list[int]], start: int) -> int:
    seen, front, steps = {start}, [start], 0
    while front:
        front = sorted({there for here in front for there in graph[here]} - seen)
        seen |= set(front)
        steps += bool(front)
    return steps


def test_the_memory_is_that_of_the_tensors():
    import torch

    from core.layers.attention import MultiHeadAttention
    from core.trace import Recorder

    tap, x = Recorder(("scores",)), torch.zeros(1, 6, 16)
    MultiHeadAttention(16, maths.HEADS)(x, x, torch.ones(6, 6, dtype=torch.bool), tap)
    assert tap.close()["scores"].nbytes == maths.score_bytes(6)
    assert x.nbytes == maths.state_bytes(6, 16)


def test_a_measurement_is_bounded_and_refuses_other_sizes():
    row = maths.measure(16, 64, budget=0.01)
    assert 0 < row.attention < 5 and 0 < row.lstm < 5
    for n, p in ((16, 65), (0, 64), (10**6, 64)):
        with pytest.raises(InputError, match="cannot be measured"):
            maths.measure(n, p)


def test_the_recorded_run_names_its_machine_and_holds_every_size(tmp_path):
    found = maths.recorded_timings()
    assert "threads used" in found.machine or "thread used" in found.machine
    assert [row.n for row in found.of_width(512)] == [*maths.LENGTHS, maths.LONGEST]
    assert all(len(found.of_width(p)) == len(maths.LENGTHS) + 1 for p in maths.WIDTHS)
    first, last = found.of_width(512)[0], found.of_width(512)[-1]
    assert first.attention < first.lstm and last.attention > last.lstm, (
        "short texts: attention is faster; long ones: slower"
    )
    with pytest.raises(InputError, match="recorded times"):
        maths.recorded_timings(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"machine": "x", "timings": [{"n": 1}]}), "utf-8")
    with pytest.raises(InputError, match="recorded times"):
        maths.recorded_timings(tmp_path)


# ---------------- The boxes of the Transformer's figure and the closed forms of its size, against the network and torch.nn.


@pytest.fixture(scope="module")
def model():
    return core.open_model("translator-en-es")


def test_the_boxes_own_every_parameter_once(model):
    counts = {box.name: parameter_count(model, box) for box in boxes(model)}
    assert sum(counts.values()) == count_parameters(model.network)
    cfg = model.config
    d, f = cfg.d_model, cfg.d_ff
    assert (
        counts["encoder.embed"] == cfg.n_vocab * d
        and counts["decoder.embed"]
        == counts["linear"]
        == counts["softmax"]
        == counts["encoder.position"]
        == 0
    )
    assert counts["encoder.0.self"] == counts["decoder.2.cross"] == sizes.attention(d) and counts[
        "decoder.1.ffn"
    ] == sizes.feed_forward(d, f)
    assert counts["encoder.final"] == counts["decoder.1.norm3"] == sizes.norm(d)
    assert counts["encoder.1.add1"] == 0
    by_part = sizes.parameter_counts(Sizes(cfg.n_layers, d, cfg.n_heads, f, cfg.n_vocab))
    assert sum(by_part.values()) == count_parameters(model.network)
    assert by_part[sizes.NETWORK] == sum(count for name, count in counts.items() if name.endswith("ffn"))
    assert by_part[sizes.NORMS] == sum(
        count for name, count in counts.items() if "norm" in name or name.endswith("final")
    )


def test_what_a_box_gives_follows_from_what_it_reads(model):
    run = model.run("She has a white car.")
    net = model.network
    for box in boxes(model):
        read, gives = [tensor_at(run, path) for path in box.reads], tensor_at(run, box.gives)
        if box.kind in ("add", "position"):
            np.testing.assert_allclose(sum(read), gives, atol=1e-5)
        elif box.kind in ("norm", "final", "ffn"):
            with torch.inference_mode():
                np.testing.assert_allclose(
                    net.get_submodule(box.parts[0])(torch.tensor(read[0])), gives, atol=1e-4
                )
        elif box.kind == "softmax":
            np.testing.assert_allclose(gives.sum(-1), 1)
        elif box.kind in ("self", "cross"):
            with torch.inference_mode():
                x = torch.tensor(read[0])[None]
                allowed = torch.ones(x.shape[1], (torch.tensor(read[-1])[None]).shape[1], dtype=torch.bool)
                may = allowed.tril() if box.kind == "self" and box.side == "decoder" else allowed
                got = net.get_submodule(box.parts[0])(x, torch.tensor(read[-1])[None], may)[0]
            np.testing.assert_allclose(got, gives, atol=1e-4)


def test_another_plan_is_refused():
    with pytest.raises(core.InputError, match="another architecture"):
        boxes(core.open_model("bert-mini"))


@pytest.mark.parametrize(("d", "f", "h", "n"), [(512, 2048, 8, 6), (66, 130, 3, 2)])
def test_closed_forms_equal_torch(d, f, h, n):
    """C072, and the documents' "512 hidden units": 1,577,984 a layer."""
    with torch.device("meta"):
        whole = nn.Transformer(
            d_model=d, nhead=h, num_encoder_layers=n, num_decoder_layers=n, dim_feedforward=f
        )
    assert sizes.stacks(Sizes(n, d, h, f)) == count_parameters(whole)
    assert sizes.encoder_layer(d, f) == count_parameters(whole.encoder.layers[0])
    assert sizes.decoder_layer(d, f) == count_parameters(whole.decoder.layers[0])
    assert sizes.encoder_layer(512, 512) == 1_577_984


def test_heads_share_the_width():
    assert Sizes(n_heads=16).d_head == 32 and sizes.parameter_counts(
        Sizes(n_heads=1)
    ) == sizes.parameter_counts(Sizes(n_heads=16))
    with pytest.raises(core.InputError):
        _ = Sizes(d_model=100, n_heads=3).d_head


# ---------------- The lesson on attention across two sentences, on the shipped translator: against torch, and what moves and is kept.


@pytest.fixture(scope="module")
def run(model):
    return model.run("She has a white car.")


def test_a_source_word_moves_keys_and_values_and_no_query_of_the_first_layer(model, run):
    other = model.run("She has a black car.", target=run.target_text)
    change = cross_shapes.largest_change(run, other)
    assert change.shape == (3, 3)
    assert change[0, 0] == 0.0
    assert (change[0, 1:] > 0.5).all()
    assert (change[1:] > 0.1).all()
    spanish = cross_shapes.largest_change(
        run, model.run("She has a white car.", target=run.target_text.replace("blanco", "negro"))
    )
    assert (spanish[:, 1:] == 0.0).all() and (spanish[:, 0] > 0).all(), "no Spanish word enters the encoder"


def test_the_source_is_projected_once_and_the_logits_stay(run):
    found = cross_shapes.decode_with_cache(run)
    n, m = len(run.source.ids), len(run.ids)
    assert found.source == (n,) + (0,) * (m - 1) and found.own_rows == (1,) * m and found.source_cached
    assert found.uncached_rows == tuple(t + 1 + n for t in range(m)) and found.gap < 1e-4
    with pytest.raises(ValueError, match="one stack"):
        cross_shapes.decode_with_cache(core.open_model("gpt-mini").run("Once"))


def test_a_decoder_layer_without_cross_attention_is_an_encoder_layer(model):
    """C072."""
    ours, base = cross_shapes.counts(model), cross_shapes.counts()
    assert base.decoder - base.without_cross == 1_051_648 and base.without_cross == base.encoder == 3_152_384
    assert ours.without_cross == ours.encoder and sum(ours.parts.values()) == ours.decoder
    assert ours.encoder == sum(p.numel() for p in model.network.encoder[1].parameters())
