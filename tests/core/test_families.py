"""The five laws of the trace, and behaviour that teaches, for every family found in core/models."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import pytest
import torch
from small_models import small_network

from core import edits, masks
from core.layers.score_terms import compose, leaves
from core.models import Batch, families
from core.run.devices import network_on
from core.trace import OFF, Recorder

GOLDEN = Path(__file__).parent.parent / "golden"
VARIANTS = {  # the field that makes the largest difference, by what a family's config has; None: there is no choice
    "layout": {"sparse": {}, "full": {}},
    "positions": {
        "sinusoidal": {},
        "halves": {"order": "pre"},
        "learned": {"first_place": 2, "embed_norm": True, "output_bias": True, "scaled": False},
    },
    "places": {
        "turned": {},
        "alibi": {"block": "behind", "biases": "all", "n_segments": 2, "pooler": True},
        "learned": {"first_norm": True, "embed_norm": False, "gated": False, "biases": "all", "blank": 4},
    },
    "order": {"pre": {}, "post": {}},
    "attention": {
        "none": {"cell": "rnn", "bidirectional": False},
        "bahdanau": {},
        "luong-global": {"score": "general", "input_feeding": True},
        "luong-local-m": {"cell": "gru", "bidirectional": False, "score": "location"},
        "luong-local-p": {"cell": "gru", "score": "dot"},
    },
    "score_cap": {
        4.0: {},
        0.0: {"qk_norm": True, "logit_cap": 0.0, "tied": False, "rope_base": 900.0, "rope_factor": 2.0},
    },
    "reach": {1: {}, 2: {"local": (0, 1), "activation": "relu"}},
    "window": {2: {}},
    "embed_norm": {True: {}, False: {"bias": False}},
    "n_kv_heads": {
        1: {"tied": True, "sliding_window": 3},
        2: {"n_experts": 3, "n_active": 2, "among_chosen": False},
        3: {"qk_norm": True, "rope_original": 8, "rope_factor": 4.0},
        6: {"qkv_bias": True},
    },
    "gated": {False: {}, True: {"activation": "gelu_tanh", "tied": False, "scaled_output": False}},
    "parallel": {True: {}, False: {"bias": False, "tied": True}},
    "to_place": {
        True: {},
        False: {"shared": False, "n_buckets": 0, "absolute": True, "n_segments": 2, "places_normed": False},
    },
    "furthest": {12: {}},
    "parts": {"both": {}, "convolutions": {}, "attention": {}},
    "distilled": {False: {}, True: {"two_heads": True}},
    "image": {28: {}},
    "n_levels": {2: {}},
    "residual": {True: {}, False: {}},
    "gate": {True: {}, False: {}},
    "shared": {"all": {}, "attention": {}, "feed-forward": {}, "none": {}},
    "cell": {"gru": {}, "lstm": {}},
    "first_place": {0: {}, 2: {"n_segments": 0, "pooler": False, "next_sentence": False}},
    None: {"post": {}},
}


def field(name):
    own = {part.name for part in fields(families()[name].config)}
    return next((field for field in VARIANTS if field in own), None)


CASES = [(name, variant) for name in families() for variant in VARIANTS[field(name)]]
WRITERS = [case for case in CASES if hasattr(families()[case[0]].network, "new_cache")]


def called(case):
    return "-".join(map(str, case))


def config(name, variant):
    which, tiny = field(name), families()[name].config.tiny()
    changes = {which: variant, **VARIANTS[which][variant]} if which else {}
    return replace(tiny, **{part: value for part, value in changes.items() if hasattr(tiny, part)})


def build(name, variant, seed=0):
    torch.manual_seed(seed)
    family = families()[name]
    network = family.network(config(name, variant)).eval()
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return family, network


def example(family, n=5, n_source=7, rows=2):
    draw = torch.Generator().manual_seed(1)
    ids = torch.randint(1, 29, (rows, n), generator=draw)
    if not family.has_source:
        parted = family.framed or family.sentences
        segments = (torch.arange(n) > 2).long().expand(rows, n) if parted else None
        real, values = torch.ones_like(ids, dtype=torch.bool), numbers(family, rows, n)
        return Batch(ids=ids, real=real, segments=segments, values=values)
    source = torch.randint(1, 29, (rows, n_source), generator=draw)
    ones = torch.ones_like
    return Batch(
        ids=ids,
        real=ones(ids, dtype=torch.bool),
        source=source,
        source_real=ones(source, dtype=torch.bool),
        values=numbers(family, rows, n_source),
    )


def numbers(family, rows, n):
    """What is behind the tokens, of a family that reads no words: as many numbers each as its reader gives."""
    if family.reads is None:
        return None
    reader = family.reads(family.config.tiny())
    width = reader.encode(reader.example).values.shape[1]
    return torch.randn(rows, n, width, generator=torch.Generator().manual_seed(2))


def forward(network, batch, tap=OFF):
    """Every output of the network; gives the logits, and of a network that writes no words its last output."""
    family = next(family for family in families().values() if family.network is type(network))
    found = {"hidden": network(batch, tap=tap)}
    for name, output in family.outputs(network.cfg).items():
        found[name] = getattr(network, name)(found[output.reads], tap)
    return found["logits"] if "logits" in found else list(found.values())[-1]


def traced(network, batch, **options):
    tap = Recorder(**options)
    with torch.no_grad():
        logits = forward(network, batch, tap)
    return logits, tap.close()


def own(trace, leaf):
    """The paths of whole patterns and the like; the steps of a recurrent network have theirs beside them."""
    return [path for path in trace.names(f"*.{leaf}") if ".step." not in path]


def only(wanted):
    """The cases whose family and config are as wanted."""
    found = [case for case in CASES if wanted(families()[case[0]], config(*case))]
    return pytest.mark.parametrize("case", found, ids=called, indirect=True)


@pytest.fixture(params=CASES, ids=called)
def case(request):
    return opened(request.param)


@cache
def opened(case):
    family, network = build(*case)
    return case, family, network, example(family)


@pytest.mark.quick(16)
def test_every_value_is_computed_on_the_device_of_the_weights(case):
    """PyTorch refuses an operation of the device "meta", whose tensors are shapes alone, with a tensor of the cpu."""
    _, _, network, batch = case
    _, trace = traced(network, batch)
    try:
        with torch.device("meta"):
            _, there = traced(network_on(network, "meta"), batch.on("meta"))
    except (RuntimeError, NotImplementedError) as error:
        if not re.search(r"item\(\) cannot be called on meta|Cannot copy out of meta", str(error)):
            raise
        pytest.skip("it reads lengths or counts out of a tensor, which has none on this device")
    assert [(there[path].shape, there[path].device.type) for path in there] == [
        (trace[path].shape, "meta") for path in trace
    ]


@pytest.mark.quick(16)
def test_law_1_tap_on_and_off_give_equal_bits(case):
    _, _, network, batch = case
    with torch.no_grad():
        plain = forward(network, batch)
    assert torch.equal(plain, traced(network, batch)[0])


@pytest.mark.quick(14)
def test_law_2_patching_a_value_with_itself_changes_nothing(case):
    _, _, network, batch = case
    logits, trace = traced(network, batch)
    again, _ = traced(network, batch, keep=(), edits=[edits.Patch(path, trace[path]) for path in trace])
    assert torch.equal(again, logits)


@pytest.mark.slow
def test_law_2_of_each_value_alone(case):
    _, _, network, batch = case
    logits, trace = traced(network, batch)
    for path in trace:
        again, _ = traced(network, batch, keep=(), edits=[edits.Patch(path, trace[path])])
        assert torch.equal(again, logits), path


def test_law_3_the_paths_equal_the_golden_list(case):
    (name, variant), _, network, batch = case
    _, trace = traced(network, batch)
    lines = [f"{path}: {' '.join(trace.axes(path))}" for path in trace]
    assert lines == (GOLDEN / f"{name}-{variant}.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.quick(16)
def test_law_4_no_named_value_is_changed_in_place(case):
    _, _, network, batch = case
    _, trace = traced(network, batch)
    assert trace.changed_in_place() == []


@pytest.mark.quick(16)
def test_law_5_the_identities_hold(case):
    _, family, network, batch = case
    _, trace = traced(network, batch)
    for path in trace.names("*.resid_mid"):
        layer = path.removesuffix("resid_mid")
        torch.testing.assert_close(
            trace[layer + "resid_in"]
            + trace[layer + ("after1.out" if layer + "after1.out" in trace else "self_attn.out")],
            trace[path],
            rtol=0,
            atol=0,
        )
    for path in own(trace, "pattern"):
        pattern, allowed = trace[path], trace[path.replace("pattern", "allowed")]
        align = path.replace("pattern", "align")  # where something is multiplied to the weights: before that
        weights = trace[align if align in trace else path]
        whole = torch.ones(pattern.shape[:-1])
        if (sink := path.replace("pattern", "sink")) in trace:  # which takes the rest
            scores = trace[path.replace("pattern", "scores")].masked_fill(~allowed, -torch.inf)
            whole = 1 - torch.cat([scores, trace[sink]], dim=-1).softmax(-1)[..., -1]
        torch.testing.assert_close(weights.sum(-1), whole, rtol=0, atol=1e-6)
        assert (pattern[~allowed] == 0).all() and (pattern >= 0).all()
        v, heads = (trace[path.replace("pattern", leaf)] for leaf in ("v", "heads"))
        torch.testing.assert_close(pattern @ v, heads)
    stacked = {
        kind.path(layer, "pattern") for kind in family.kinds for layer in range(kind.n_layers(network.cfg))
    }
    assert stacked == set(own(trace, "pattern"))


def test_law_6_a_score_is_what_its_attention_says():
    """Of every family, variant and kind of attention: the steps that it names make its scores, and the softmax its weights."""
    seen = set()
    for _, family, network, batch in map(opened, CASES):
        trace = traced(network, batch)[1]
        for kind in filter(lambda kind: kind.layered, family.kinds_of(network.cfg)):
            for layer in range(kind.n_layers(network.cfg)):
                terms = kind.module(network, layer).score_terms()
                part = {leaf: trace[kind.path(layer, leaf)] for leaf in ("q", "k", "scores", *leaves(terms))}
                dots = part["q"].double() @ part["k"].double().mT
                made = torch.as_tensor(
                    compose(terms, dots.numpy(), {n: x.detach().numpy() for n, x in part.items()})
                )
                torch.testing.assert_close(made, part["scores"].double(), rtol=1e-6, atol=1e-5)
                columns = [part[term.leaf].double() for term in terms if term.column]
                open_ = made.masked_fill(~trace[kind.path(layer, "allowed")], -torch.inf)
                weights = torch.cat([open_, *columns], dim=-1).softmax(-1)[..., : made.shape[-1]]
                torch.testing.assert_close(weights.float(), trace[kind.path(layer, "pattern")])
                seen |= {term.name for term in terms}
    assert seen >= {"product", "scale", "cap", "bias", "content_position", "position_content", "sink"}


@pytest.mark.quick(16)
def test_the_outputs_are_the_last_paths_in_their_order(case):
    _, family, network, batch = case
    _, trace = traced(network, batch)
    declared = [path for output in family.outputs(network.cfg).values() for path in output.paths]
    assert list(trace)[len(trace) - len(declared) :] == declared


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case not in WRITERS and families()[case[0]].kinds],
    ids=called,
    indirect=True,
)
def test_a_reader_looks_both_ways(case):
    _, _, network, batch = case
    changed = replace(batch, ids=torch.cat((batch.ids[:, :3], batch.ids[:, 3:] % 28 + 1), dim=1))
    with torch.no_grad():
        before, after = forward(network, batch), forward(network, changed)
    assert ((before - after).abs().amax(-1) > 0).all()


@pytest.mark.parametrize("case", WRITERS, ids=called, indirect=True)
def test_a_later_target_token_leaves_the_past_unchanged_to_the_bit(case):
    _, _, network, batch = case
    changed = replace(batch, ids=torch.cat((batch.ids[:, :3], batch.ids[:, 3:] % 28 + 1), dim=1))
    with torch.no_grad():
        before, after = forward(network, batch), forward(network, changed)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.equal(before[:, 3:], after[:, 3:])


@pytest.mark.parametrize("case", WRITERS, ids=called, indirect=True)
def test_cached_decoding_gives_the_logits_of_the_whole_pass(case):
    _, family, network, batch = case
    with torch.no_grad():
        whole = forward(network, batch)
        cache = network.new_cache()
        memory = {"memory": network.encode(batch)} if family.has_source else {}
        steps = []
        for i in range(batch.ids.shape[1]):
            new = replace(batch, ids=batch.ids[:, i : i + 1], real=batch.real[:, i : i + 1])
            steps.append(network.logits(network(new, cache=cache, **memory)))
    torch.testing.assert_close(torch.cat(steps, dim=1), whole, rtol=1e-5, atol=1e-5)
    assert cache.n_read == batch.ids.shape[1] and cache.nbytes > 0


@pytest.mark.quick(16)
def test_padding_changes_nothing(case):
    _, family, network, batch = case
    with torch.no_grad():
        alone = forward(network, batch)
        pad = torch.full((2, 2), 3)
        real = torch.cat((batch.real, torch.zeros(2, 2, dtype=torch.bool)), dim=1)
        wider = replace(batch, ids=torch.cat((batch.ids, pad), dim=1), real=real)
        if batch.segments is not None:
            wider = replace(wider, segments=torch.cat((batch.segments, pad % 2), dim=1))
        if family.has_source:
            source_real = torch.cat((batch.source_real, torch.zeros(2, 2, dtype=torch.bool)), dim=1)
            wider = replace(wider, source=torch.cat((batch.source, pad), dim=1), source_real=source_real)
        if batch.values is not None:
            blank = torch.zeros(2, 2, batch.values.shape[2])
            wider = replace(wider, values=torch.cat((batch.values, blank), dim=1))
        torch.testing.assert_close(forward(network, wider)[:, : alone.shape[1]], alone, rtol=1e-5, atol=1e-5)
        _, trace = traced(network, wider)
    for path in own(trace, "pattern"):
        kind = next(
            k for k in family.kinds if path in {k.path(i, "pattern") for i in range(k.n_layers(network.cfg))}
        )
        assert (trace[path][..., n_along(kind.keys, batch) :] == 0).all(), path


def n_along(axis, batch):
    """How much stands along an axis of a kind of attention; the example has two sentences."""
    return {"target": batch.ids.shape[1], "sentence": 2, "document": 1}.get(axis) or batch.source.shape[1]


@pytest.mark.quick(16)
@only(lambda family, cfg: family.kinds_of(cfg) and all(kind.layered for kind in family.kinds))
def test_switching_off_every_head_silences_the_layer(case):
    _, family, network, batch = case
    for kind in family.kinds:
        off = [edits.ZeroHead(kind.path(0, "heads"), head) for head in range(network.cfg.n_heads)]
        _, trace = traced(network, batch, edits=off)
        out, bias = trace[kind.path(0, "out")], kind.module(network, 0).to_out.bias
        torch.testing.assert_close(out, torch.zeros_like(out) if bias is None else bias.expand_as(out))


@pytest.mark.quick(16)
@only(lambda family, cfg: family.kinds_of(cfg))
def test_a_row_with_nothing_allowed_is_zeros_and_the_run_stays_finite(case):
    _, family, network, batch = case
    kind = family.kinds[-1]
    logits, trace = traced(network, batch, edits=[edits.Forbid(kind.path(0, "allowed"), query=0)])
    assert (trace[kind.path(0, "pattern")][:, :, 0] == 0).all()
    assert logits.isfinite().all()


@pytest.mark.quick(16)
@only(lambda family, cfg: family.kinds_of(cfg))
def test_a_whole_mask_can_be_put_in_place(case):
    _, family, network, batch = case
    kind = family.kinds[-1]
    wanted = masks.full(n_along(kind.queries, batch), n_along(kind.keys, batch)).tril(1).triu(-1)
    rows = tuple(map(tuple, wanted.tolist()))
    layer = kind.n_layers(network.cfg) - 1
    _, trace = traced(network, batch, edits=[edits.SetAllowed(kind.path(layer, "allowed"), rows)])
    assert torch.equal(trace[kind.path(layer, "pattern")][0, 0] > 0, wanted)


def test_tiny_axes_are_different_numbers(case):
    _, _, network, _ = case
    names = ("n_layers", "n_heads", "d_head", "d_ff", "n_vocab", "n_ctx", "d_model")
    sizes = [size for name in names if (size := getattr(network.cfg, name, 0))]
    assert len(sizes) - len(set(sizes)) == (
        1 if getattr(network.cfg, "n_heads", 0) == 1 else 0
    )  # one head is as wide as the model


WRONG = {
    **{"n_heads": (0, 2), "n_layers": (-1,), "d_model": (0,), "dropout": (1.0, -0.1), "eps": (float("nan"),)},
    **{
        "activation": ("swish",),
        "order": ("both",),
        "attention": ("magic", None),
        "cell": (3,),
        "score": ([],),
    },
    **{"window": (0, True), "n_dense": (0,), "n_filters": (-1,), "parts": ("neither", None), "image": (0,)},
    **{"patch": (5,), "channels": (-1,), "n_decoder_layers": (-1,), "positions": ("rotary", None)},
    **{"d_rotary": (3, 0, 64), "rope_base": (-1.0,), "parallel": (1,), "tied": (None,), "scale": (0,)},
    **{"score_cap": (-1.0,), "logit_cap": ("no",), "rope_local_base": (None,), "rope_factor": (0.0,)},
    **{"local": ((2,), (1, 0), 1, (1, 1)), "norm": ("batch",), "block": ("around",), "unturned": ((2,),)},
    **{"embed_scale": (0.0,), "wide_norm": (1,), "biases": ("some",), "places": ("rotary",), "blank": (-2,)},
    **{"first_norm": (1,), "n_buckets": (5,), "furthest": (2,), "gated": (1,), "scaled_output": ("no",)},
    **{"scaled": (1,), "embed_norm": ("yes",), "output_bias": (0,), "d_hidden": (0,), "residual": ("yes",)},
    **{"n_levels": (0,), "n_bands": (1.5,), "grid": (0, 17, 5), "gate": ("yes",), "bidirectional": (1,)},
    **{"input_feeding": ("yes", True), "d_embed": (0,), "shared": ("some", None), "n_segments": (-1, True)},
    **{"first_place": (-1,), "sentence_order": ("yes",), "masked_lm": ("yes",), "attention_only": (1,)},
    "classes": ((), ("one", "one"), ("one", 2), "ab"),
}
FITTING = [
    ("t5", "n_heads", 2),
    ("t5_encoder", "n_heads", 2),
    ("llama", "d_rotary", 0),
    ("llama", "scale", 0),
]
REFUSED = [
    (name, part.name, value)
    for name, family in families().items()
    for part in fields(family.config)
    for value in WRONG.get(part.name, ())
    if (name, part.name, value) not in FITTING
]


@pytest.mark.quick(40)
@pytest.mark.parametrize(("name", "part", "value"), REFUSED)
def test_a_configuration_that_cannot_be_built_names_its_numbers(name, part, value):
    with pytest.raises(ValueError, match=part):
        replace(families()[name].config.tiny(), **{part: value})


@pytest.fixture
def attention_only():
    return small_network("gpt", attention_only=True), example(families()["gpt"])


def test_a_gpt_of_attention_alone_keeps_the_laws(attention_only):
    network, batch = attention_only
    logits, trace = traced(network, batch)
    with torch.no_grad():
        assert torch.equal(forward(network, batch), logits)
    lines = [f"{path}: {' '.join(trace.axes(path))}" for path in trace]
    assert lines == (GOLDEN / "gpt-attention-only.txt").read_text(encoding="utf-8").splitlines()
    for layer in ("layer.0.", "layer.1."):
        torch.testing.assert_close(
            trace[layer + "resid_in"] + trace[layer + "self_attn.out"],
            trace[layer + "resid_out"],
            rtol=0,
            atol=0,
        )
    assert trace.changed_in_place() == [] and not trace.names("*ffn*")


def test_the_heads_of_a_gpt_of_attention_alone_add_up_to_its_last_stream(attention_only):
    """Without a feed-forward network the stream is the embedding and what each head wrote: nothing else."""
    network, batch = attention_only
    _, trace = traced(network, batch)
    written = [
        layer.self_attn.to_out(trace[f"layer.{i}.self_attn.heads"].transpose(1, 2).flatten(-2))
        for i, layer in enumerate(network.layers)
    ]
    torch.testing.assert_close(trace["embed.out"] + sum(written), trace["layer.1.resid_out"])


def test_gpts_of_attention_alone_and_berts_that_cannot_be_built_are_refused():
    for name, wrong in (("gpt", {"attention_only": True, "order": "post"}), ("bert", {"pooler": False})):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            replace(families()[name].config.tiny(), **wrong)
