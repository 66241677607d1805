"""A model of the visitor's own in a real browser: uploaded, refused in words with the files still chosen, and beside one of a folder."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from app_server import served_app
from foreign_folders import write
from playwright.sync_api import expect
from settling import settle

FILES = ("config.json", "tokenizer.json", "model.safetensors")
HEATS = "[data-cell][data-scale]"


@pytest.fixture(scope="module")
def llama(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("own"))


def upload(page, url: str, folder: Path, *names: str) -> None:
    if "/your_model" not in page.url:
        page.goto(f"{url}/your_model")
    page.locator("[data-box]").wait_for()
    page.locator("input[type=file]").set_input_files([folder / name for name in names])


def opened(page) -> str:
    """Send what is chosen; the name of the model once it is in view."""
    page.get_by_role("button", name="Open it").click()
    page.wait_for_function("() => location.search.includes('upload%3A')", timeout=20_000)
    settle(page)
    (name,) = parse_qs(urlsplit(page.url).query)["your_model.which"]
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    return name


def test_a_model_is_uploaded_and_a_refused_one_keeps_what_was_chosen(visitor, app_url, llama, tmp_path):
    bad = tmp_path / "config.json"
    bad.write_text(json.dumps(json.loads((llama / "config.json").read_text()) | {"num_hidden_layers": 3}))
    upload(visitor, app_url, tmp_path, "config.json")
    upload(visitor, app_url, llama, *FILES[1:], "README.md")
    said = visitor.locator("[data-said]")
    expect(said).to_contain_text("README.md")
    visitor.get_by_role("button", name="Open it").click()
    expect(said).to_contain_text("Weights missing")
    expect(visitor.locator("li[data-there]")).to_have_count(3)
    upload(visitor, app_url, llama, "config.json")
    opened(visitor)
    expect(visitor.get_by_text("key-value heads")).to_be_visible()
    expect(visitor.get_by_role("heading", name="What its heads do")).to_be_visible()


@pytest.mark.slow
def test_heads_of_an_uploaded_llama_and_of_a_roberta_of_a_folder_are_compared(
    new_page, llama, tmp_path_factory
):
    shelf = tmp_path_factory.mktemp("shelf")
    write(shelf, "tiny-roberta")
    places = {"ATLAS_UPLOAD": "64M", "ATLAS_MODELS": str(shelf)}
    with served_app(tmp_path_factory.mktemp("server"), **places) as url:
        page = new_page(levels=(), viewport={"width": 1280, "height": 1000})
        upload(page, url, llama, *FILES)
        name = opened(page)
        views = "|".join((f"{name}~causal~1.2~", "tiny-roberta~self~0.1~"))
        page.goto(f"{url}/compare?model={name}&text=She+has+a+white+car.&compare.panes={views}")
        settle(page)
        assert page.locator(HEATS).count() == 0, "another visit: the model was that one's"
        page.goto(f"{url}/your_model")
        upload(page, url, llama, *FILES)
        name = opened(page)
        page.get_by_role("combobox", name="The other").fill("tiny-rob")
        page.keyboard.press("Enter")
        settle(page)
        assert page.locator('[class*="st-key-your_model-apart"]').count() == 0, (
            "of other shapes: no head by head"
        )
        page.get_by_role("link", name="Compare on common words").click()
        expect(page.locator(HEATS)).to_have_count(3)
        settle(page)
        assert page.get_by_text("Jensen-Shannon divergence").count()
        assert page.get_by_text("tiny-roberta").count() and page.get_by_text(name).count()
