"""Crafted folders of every kind: sizes that are none or huge, tensors that are missing, misshapen, too many or no numbers."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from core.checkpoints.foreign import formats, plan_foreign
from core.checkpoints.safety.safetensors_header import Entry
from core.checkpoints.weights import Weights
from core.errors import InputError
from tests.kind_shapes import tiny

NONE = {
    "max_relative_positions": -1,
    **dict.fromkeys(
        (
            "num_random_blocks",
            "sliding_window",
            "max_window_layers",
            "conv_kernel_size",
            "moe_every_n_layers",
        ),
        0,
    ),
}
"""What says that there is none of it."""


@cache
def folder(name):
    """What a good folder of a kind says, and its headers: nothing else is looked at before the weights are read."""
    form, config = formats()[name], tiny(name)
    said = form.values(config) or formats()["bert"].values(config)  # an ELECTRA says what a BERT does
    values = {"model_type": name, "tie_word_embeddings": True, **said}
    entries = {form.full(take.name): Entry(Path("w"), "F32", take.shape) for take in form.takes(config)}
    return values, entries


def problem(values, entries):
    began = time.thread_time()  # of this thread: the machine has others
    with pytest.raises(InputError) as error:
        plan_foreign(values, Weights(entries))
    assert time.thread_time() - began < 5 and len(str(error.value)) < 1500
    return str(error.value)


@pytest.fixture(params=formats())
def kind(request):
    return request.param


def test_the_good_one_is_planned(kind):
    values, entries = folder(kind)
    plan, _ = plan_foreign(values, Weights(entries))
    assert {take.shape for take in plan.takes} == {entry.shape for entry in entries.values()}


@pytest.mark.quick(40)
@pytest.mark.parametrize(
    "odd", [10**12, -1, 0, "3", True, [2], 2.5, {"a": 1}, "x" * 10**6], ids=lambda v: str(v)[:9]
)
def test_every_size_is_judged_by_name(kind, odd):
    values, entries = folder(kind)
    sizes = [name for name, value in values.items() if type(value) is int and not name.endswith("_token_id")]
    assert len(sizes) >= 5
    for name in sizes:
        if odd != NONE.get(name) or odd is True:
            assert problem({**values, name: odd}, entries), name


LATER = re.compile(r"\.[1-9]\d*\.")
"""In the name of a tensor of a layer after the first one: they are planned alike, and one of them is enough."""


@pytest.mark.quick(26)
def test_tensors_that_do_not_fit_are_named(kind):
    values, entries = folder(kind)
    alike = [name for name in entries if LATER.search(name)][1:]
    for name in entries.keys() - set(alike):
        entry = entries[name]
        wider = replace(entry, shape=(*entry.shape[:-1], entry.shape[-1] + 1))
        plain = formats()[kind].plain(name)
        assert f"'{plain}' has the shape" in problem(values, {**entries, name: wider})
    first, *others = entries
    assert "missing" in problem(values, {name: entries[name] for name in others})
    assert "left over" in problem(values, {**entries, "one.more.weight": entries[first]})
    assert "is stored as I64" in problem(values, {**entries, first: replace(entries[first], dtype="I64")})


@pytest.mark.quick(8)
def test_more_layers_than_are_stored_cost_nothing(kind):
    values, entries = folder(kind)
    many = {
        name: 512
        for name in values.keys() - NONE.keys()
        if name.endswith(("layers", "n_layer")) and type(values[name]) is int
    }
    if "no_rope_layers" in values:
        many["no_rope_layers"] = [1] * 512
    if kind == "albert":
        return  # its layers share their weights
    if kind == "gpt_neo":
        many |= {"attention_types": [[["global"], 512]]}
    if "layer_types" in values:
        many |= {"layer_types": values["layer_types"][:1] * 512}
    assert many and "missing" in problem({**values, **many, "max_window_layers": 0}, entries)


def test_what_no_kind_computes_is_refused(kind):
    values, entries = folder(kind)
    for switch, odd in (
        ("quantization_config", {"bits": 4}),
        ("pruned_heads", {"0": [1]}),
        ("add_cross_attention", True),
    ):
        assert switch in problem({**values, switch: odd}, entries)


def test_a_config_of_all_kinds_at_once_costs_little():
    """Without a kind each format is tried: none makes a network of 512 layers for tensors that are not its own."""
    said = {}
    for name in formats():
        said |= {key: value for key, value in folder(name)[0].items() if not key.startswith("rope_")}
    deep = {key: 512 for key in said if key.endswith(("layers", "n_layer"))}
    entries = {f"x.{i}.weight": Entry(Path("w"), "F32", (4, 4)) for i in range(600)}
    assert "no kind" in problem({**said, **deep, "model_type": None}, entries)
