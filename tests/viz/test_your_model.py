"""The page of the models that people bring, and every page of the workspace with a Llama-kind and a RoBERTa-kind folder."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from foreign_folders import write
from test_pages import PICTURES
from workspace_pages import again, click, page, said

import core.serving.engine
from core.checkpoints import hub
from core.checkpoints.hub import Offer
from core.errors import InputError
from core.jobs.fetching import FETCHER
from core.reading import surveys
from core.reading.surveys import Surveys
from core.serving.engine import Engine
from viz.uploads.store import UPLOADS

TEXT = "She has a white car."


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints of one Llama shape, a RoBERTa, and a folder that is refused."""
    folder = tmp_path_factory.mktemp("shelf")
    write(folder, "tiny-llama")
    write(folder, "tiny-llama@later", seed=6)
    write(folder, "tiny-roberta")
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text('{"model_type": "llama"}')
    return folder


@pytest.fixture
def brought(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setenv("ATLAS_MODELS", str(shelf))
    monkeypatch.setattr(surveys, "_default", Surveys())
    with Engine() as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        yield engine


def test_without_a_model_the_page_says_how_to_bring_one(monkeypatch) -> None:
    monkeypatch.delenv("ATLAS_MODELS", raising=False)
    monkeypatch.setattr("core.checkpoints.find.PACKAGES", ())
    with Engine() as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        test = page("your_model")
    code = "\n".join(element.value for element in test.code)
    assert "No model" in said(test)
    for command in ("ATLAS_MODELS=", "ATLAS_HUB=1", "ATLAS_UPLOAD=1", "core.checkpoints.inspect"):
        assert command in code


@pytest.mark.slow
def test_what_was_found_is_told_and_the_heads_are_surveyed_behind_the_page(
    brought: Engine, shelf: Path
) -> None:
    test = page("your_model", **{"your_model.which": "tiny-llama"})
    told, model = said(test), brought.open("tiny-llama")
    for part in (
        f"{model.n_parameters:,} in",
        "key-value heads",
        "stored as F32",
        "entries",
        "broken does not open.",
    ):
        assert part in told, part
    for slug in ("look", "what_if", "inside", "decode", "importance", "find", "compare"):
        assert f"](/{slug}?" in told.replace("](/?", "](/look?"), slug
    end = time.monotonic() + 60
    while not (standing := surveys.default()._standings[model]).over and time.monotonic() < end:
        time.sleep(0.05)
    assert standing.heads["causal"].shape == (model.config.n_layers, model.config.n_heads) and standing.saved
    assert (shelf / "tiny-llama" / "heads.json").is_file()
    told = said(again(test))
    assert "clear habit" in told and "beside the weights" in told
    second = surveys.Surveys()
    second.begin(model, shelf / "tiny-llama")
    while second.heads(model) is None:
        time.sleep(0.02)
    assert second._standings[model].total == 0, "what lies beside the weights is read, not measured again"


@pytest.mark.slow
def test_two_checkpoints_of_one_shape_are_compared_head_by_head(brought: Engine) -> None:
    test = page("your_model", **{"your_model.which": "tiny-llama", "your_model.other": "tiny-llama@later"})
    assert "differs most, by" in said(test) and "in Compare" in said(test)


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", ["tiny-llama", "tiny-roberta"])
@pytest.mark.parametrize(
    "slug",
    [
        "look",
        "what_if",
        "inside",
        "importance",
        "compare",
        "decode",
        pytest.param("find", marks=pytest.mark.slow),
    ],
)
def test_every_page_of_the_workspace_shows_it(brought: Engine, slug: str, name: str) -> None:
    test = page(slug, model=name, text=TEXT)
    if (slug, name) == ("decode", "tiny-roberta"):
        assert "cannot go on" in said(test)
        return
    assert "cannot" not in said(test) and any(len(test.get(kind)) for kind in PICTURES)


@pytest.mark.slow
def test_the_hub_is_asked_by_name_sizes_first_and_a_refusal_keeps_the_name(
    brought: Engine, monkeypatch
) -> None:
    monkeypatch.setenv("ATLAS_HUB", "1")
    sizes = {"config.json": 10**6, "model.safetensors": 8 * 10**6}
    asked: list[str] = []

    def offered(address: str) -> Offer:
        asked.append(address)
        if "none" in address:
            raise InputError("The Hub has no open model.", "It must be public.", "Check the name.")
        return Offer("own/tiny", "1", sizes)

    monkeypatch.setattr(hub, "find_download", offered)
    monkeypatch.setattr(
        FETCHER, "_fetch", lambda offer, tell: (tell(5 * 10**6), going.wait(20), tell(9 * 10**6))
    )
    going = threading.Event()
    test = page("your_model", **{"your_model.hub": "own/none"})
    click(test, "See what it has")
    assert "no open model" in said(test)
    (named,) = (box for box in test.text_input if box.value == "own/none")
    named.set_value("own/tiny").run()
    click(test, "See what it has")
    assert asked == ["hf:own/none", "hf:own/tiny"] and "model.safetensors 8.0 MB" in said(test)
    click(test, "Fetch 9.0 MB")
    while not FETCHER.now.bytes_here:
        time.sleep(0.01)
    test.run()
    assert any("5.0 of 9.0 MB" in bar.proto.text for bar in test.get("progress"))
    click(test, "Stop")
    going.set()
    while not FETCHER.now.over:
        time.sleep(0.01)
    assert "was stopped" in said(again(test))


@pytest.mark.slow
def test_an_upload_is_offered_with_its_limit_where_the_server_takes_any(brought: Engine, monkeypatch) -> None:
    monkeypatch.setenv("ATLAS_UPLOAD", "300M")
    test = page("your_model")
    given = next(
        found
        for box in test.get("bidi_component")
        if "ticket" in (found := json.loads(box.proto.json or "{}"))
    )
    assert given["most"]["model.safetensors"] == 300 * 2**20 and UPLOADS.find(given["ticket"])
    assert "up to 300 MB" in said(test)


def test_a_name_with_a_hyphen_is_plain_text_where_no_head_is_named() -> None:
    from types import SimpleNamespace as Bare

    from viz.workspace.your_model.naming import unread

    survey = Bare(heads={"self": Bare(readable=False)}, unread=0.22, texts=())
    assert unread(Bare(name="my-model_2"), survey).startswith("my-model_2 ")
