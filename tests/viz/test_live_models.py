"""Models packed for the browser, and the page around them: what the files hold, and what is refused."""

from __future__ import annotations

import copy
import json
import random
import re
import string
import zlib
from dataclasses import replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.checkpoints import open_model
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.native_format import load_weights
from core.data.texts import texts
from core.errors import InputError
from core.run import Run
from viz.export import __main__ as command
from viz.export.live import pack, rounding, site
from viz.export.record import Recording

packed = cache(pack.pack)


def read(script: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the description and the weights of a model's file, read anew as the browser does."""
    literal = script[script.index(b"`") + 1 : script.rindex(b"`")]
    content = re.sub(rb"\\(.)", lambda m: b"\r" if m[1] == b"r" else m[1], literal, flags=re.DOTALL)
    parts, at = [], 0
    while at < len(content):
        size = int.from_bytes(content[at : at + 4], "little")
        parts.append(content[at + 4 : at + 4 + size])
        at += 4 + size
    described = json.loads(zlib.decompress(parts[0]))
    scales = np.frombuffer(zlib.decompress(parts[1]), "<f4")
    high, low = (np.frombuffer(part, np.uint8) for part in (zlib.decompress(parts[2]), parts[3]))
    weights = {}
    for name, shape, kind in described["tensors"]:
        count = int(np.prod(shape))
        if kind == "byte":
            values = high[:count].view(np.int8).astype(np.float32)
        else:
            pairs = np.stack([low[:count], high[:count]], axis=1).copy()
            values = pairs.view("<f2" if kind == "half" else "<i2").ravel().astype(np.float32)
            low = low[count:]
        if kind != "half":
            values = values.reshape(shape) * scales[: shape[0], None]
            scales = scales[shape[0] :]
        high, weights[name] = high[count:], values.reshape(shape)
    assert not len(high) and not len(low) and not len(scales)
    return described, weights


def test_a_model_that_fits_is_packed_exactly() -> None:
    script = packed("bert-mini")
    described, weights = read(script)
    stored = load_weights(shipped_folder() / "bert-mini")
    assert len(script) < pack.MOST and described["family"] == "bert"
    assert all(np.array_equal(weights[name], stored[name].numpy()) for name in weights)
    assert {name.split(".")[0] for name in stored.keys() - weights.keys()} == {*pack.UNUSED}
    assert described["tokenizer"]["tokens"][described["ids"]["mask"]] == "[MASK]"


@pytest.mark.slow
def test_no_model_has_more_than_12_mb_and_only_the_largest_is_rounded() -> None:
    for name in pack.MODELS:
        script = packed(name)
        _, weights = read(script)
        stored = load_weights(shipped_folder() / name)
        off = max(np.abs(weights[one] - stored[one].numpy()).max() for one in weights)
        assert len(script) <= 12_000_000
        assert (off == 0) == (name != "translator-en-es") and off < 0.01


def test_errors_of_a_column_are_made_up_for_where_inputs_are_alike() -> None:
    chosen = np.random.default_rng(0)
    x = chosen.normal(size=(400, 4)) @ chosen.normal(size=(4, 32)) + 0.1 * chosen.normal(size=(400, 32))
    values, scales = chosen.normal(size=(16, 32)), np.full((16, 1), 0.25)
    off = [
        float(np.abs(x @ (rounding.in_steps(values, scales, moment) * scales - values).T).mean())
        for moment in (None, x.T @ x / len(x))
    ]
    assert off[1] < 0.6 * off[0]


def strings(count: int) -> list[str]:
    """Return texts that are no words: letters of many scripts, digits and punctuation marks, from one to six in a row."""
    chosen = random.Random(48)
    pools = (
        string.ascii_letters,
        string.punctuation + string.digits,
        "bcdfgqwxz",
        "äÖüñçœÆжλ日한ア€→\U0001f600",
    )
    pieces = lambda: "".join(chosen.choices(chosen.choice(pools), k=chosen.randint(1, 9)))  # noqa: E731 - beside what it chooses from
    return [" ".join(pieces() for _ in range(chosen.randint(1, 6))) for _ in range(count)]


def margin(exact: Run, near: Run) -> float:
    """Return by how much the logit of the best token exceeds the second best where two translations part."""
    pairs = enumerate(zip_longest(exact.side.ids, near.side.ids))
    at = next(at for at, (one, other) in pairs if one != other)
    second, first = np.sort(exact.trace["logits"][at - 1])[-2:]
    return float(first - second)


@pytest.mark.slow
def test_attention_of_the_rounded_translator_on_texts_it_was_not_fitted_to() -> None:
    model = open_model("translator-en-es")
    network = copy.deepcopy(model.network)
    weights = {name: torch.tensor(values) for name, values in read(packed("translator-en-es"))[1].items()}
    network.load_state_dict(weights, strict=False)
    rounded = replace(model, network=network)
    pairs = {text for pair in texts("pairs_next") for text in (pair.first, pair.second)}
    held_out = sorted(
        pairs | {one.text for name in ("head_maps", "heads_en", "heads_en-es") for one in texts(name)}
    )
    held_out += [one.text for one in texts("battery")][1::2]
    odd = ["Ünïcödé tést", "A", "?", " b ", "the " * 60, *strings(195)]
    every = held_out + odd
    off, margins = dict[str, float](), dict[str, float]()
    for group in (every[at : at + 20] for at in range(0, len(every), 20)):
        keep = ["*.pattern", "logits"]
        runs = zip(*(one.run_many(group, keep=keep) for one in (model, rounded)), strict=True)
        for text, (exact, near) in zip(group, runs, strict=True):
            same = exact.target_text == near.target_text
            if not same:
                margins[text] = margin(exact, near)
            off[text] = max(
                float(np.abs(exact.attention(kind).weights - near.attention(kind).weights).max())
                for kind in (exact.kinds if same else ("self",))
            )
    worst, far = max(off[text] for text in held_out), sorted((off[text] for text in odd), reverse=True)
    print(
        f"\n{len(held_out)} sentences: {worst:.1e}; {len(odd)} strings: {far[:3]}; other texts: {sorted(margins.values())}"
    )
    assert worst < 1e-3 and far[1] < 1e-3 and far[0] < 1.5e-3
    assert len(margins.keys() & {*held_out}) <= 0.01 * len(held_out)
    assert max(margins.values(), default=0) < 0.03, "two tokens were almost equally probable"
    assert not {*every} & {*rounding.calibration_texts()}


def test_the_page_runs_no_script_that_its_policy_does_not_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "pack", packed)
    monkeypatch.setitem(site.EXAMPLES, "bert-mini", "</script><img src=x onerror=alert(1)> [MASK]")
    sizes = site.write(["bert-mini"], tmp_path / "live")
    page = (tmp_path / "live" / "index.html").read_text("utf-8")
    assert {*sizes} == {"index.html", "LICENSES.txt", "models/bert-mini.js"}
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert "default-src 'none'" in policy and not re.search(r"https?://", policy)
    assert len(re.findall(r"<script(?: data-code=\"\w+\")?>", page)) == policy.count("'sha256-") == 5
    assert "<img src=x" not in page and page.count("</script") == page.count("<script")
    assert site.folder_files(["bert-mini"])["index.html"] == page.encode(), "the same page is the same bytes"
    assert command.main(["--live", "bert-mini", str(tmp_path / "live")]) == 0, "ours is written again"


def test_other_models_and_folders_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="does not run in a page"):
        pack.pack("vit-doodles")
    (tmp_path / "index.html").write_text("mine")
    assert command.main(["--live", "gpt-mini", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["vision", "vision", str(tmp_path / "new")])
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_a_stop_of_look_leads_to_its_model_with_its_sentence() -> None:
    shown = (
        "look?model=gpt-mini&text=A+%26+B&view=heads",
        "look?model=vit-doodles&text=cat",
        "look",
        "scaling",
    )
    made = Recording({"title": "Three"}, tuple({"link": link} for link in shown))
    assert site.add_own_sentences(made) == ["gpt-mini", "translator-en-es"]
    assert [stop.get("own") for stop in made.stops] == [
        "model=gpt-mini&text=A+%26+B",
        None,
        "model=translator-en-es&text=She+has+a+white+car.",
        None,
    ]
    assert made.lesson["live"] == "live/index.html"
    none = Recording({"title": "None"}, ({"link": "scaling"},))
    assert site.add_own_sentences(none) == [] and not none.lesson["live"]
