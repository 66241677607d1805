"""Models packed for the browser, and the page around them: what the files hold, and what is refused."""

from __future__ import annotations

import json
import re
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.checkpoints.manifest import shipped_folder
from core.checkpoints.native_format import load_weights
from core.errors import InputError
from viz.export import __main__ as command
from viz.export.live import pack, site
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
