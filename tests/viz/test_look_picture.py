"""Look with a model that reads pictures: a canvas in place of the box, the head on the picture, what it takes it for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tiny_models
from packets import opened, packets_of
from test_links import said, visited

import core.serving.engine
import viz
from core.checkpoints import store
from core.data import doodles
from core.data.patches import patch_tokenizer
from core.errors import InputError
from core.models import families

FISH = doodles.as_text(doodles.example("fish"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Vision Transformer of 4 by 4 patches, every weight drawn anew, beside a translator."""
    folder = tmp_path_factory.mktemp("models")
    with (
        pytest.MonkeyPatch.context() as patch,
        tiny_models.served(patch, folder, "tiny-translator") as engine,
    ):
        family = families()["vit"]
        config = family.config.tiny()
        patch_tokenizer(config.side).save(str(folder / "names.json"))
        store.save_model(
            folder / "tiny-vit",
            family="vit",
            config=config,
            weights=family.network(config).state_dict(),
            tokenizer=folder / "names.json",
            ids={"pad": 0},
            training={},
        )
        yield engine.open("tiny-vit")


def headers(page: Any) -> list[dict[str, Any]]:
    return [opened(data)[0] for data in packets_of(page)]


def test_look_draws_the_head_on_the_doodle_and_says_what_it_is_taken_for(model: Any) -> None:
    page = visited("look", {"model": "tiny-vit", "text": FISH})
    assert "went wrong" not in said(page)
    canvas, picture = headers(page)[:2]
    assert canvas["doodle"] == FISH and canvas["samples"] == list(doodles.NAMES)
    assert picture["cells"] == [4, 4] and picture["keys"][:2] == ["class token", "row 1, column 1"]
    assert "classifies the picture" in said(page)
    assert any("picture" in str(pills.options) for pills in page.button_group)


@pytest.mark.parametrize("view", ["heads", "full"])
def test_all_heads_and_the_full_view_follow(model: Any, view: str) -> None:
    page = visited("look", {"model": "tiny-vit", "text": FISH, "view": view})
    assert "went wrong" not in said(page)
    assert any("stack" in header and "cells" in header for header in headers(page))


def test_a_sentence_in_the_link_is_no_doodle_and_is_told(model: Any) -> None:
    page = visited("look", {"model": "tiny-vit", "text": "The cat sat."})
    assert "28 by 28" in said(page) and headers(page)[0]["doodle"] == doodles.as_text(doodles.example("cat"))


def test_a_notebook_draws_a_run_on_its_picture(model: Any) -> None:
    picture = viz.picture_view(model.run(FISH), layer=1, head=2)
    assert repr(picture) == "<Picture: tiny-vit, self attention, L1.H2>"
    assert "viz.picture_view(run, layer=1, head=2, kind='self')" in picture.packet.header["python"]
    translator = core.serving.engine.default().open("tiny-translator")
    with pytest.raises(InputError, match="reads no picture"):
        viz.picture_view(translator.run("a dog"))
    with pytest.raises(InputError, match="no head 9"):
        viz.picture_view(model.run(FISH), head=9)
