"""Look with a model that reads pictures: a canvas in place of the box, the head on the picture, what it takes it for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tiny_models
from workspace_pages import header, page, said, sent

import core.serving.engine
import viz
from core.checkpoints import store
from core.data import doodles
from core.data.patches import patch_tokenizer
from core.errors import InputError
from core.model import Model
from core.models import families

FISH = doodles.as_text(doodles.example("fish"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
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


def test_look_draws_the_head_on_the_doodle_and_says_what_it_is_taken_for(model: Model) -> None:
    test = page("look", model="tiny-vit", text=FISH)
    canvas, picture = header(test, "doodle"), header(test, "cells")
    assert canvas["doodle"] == FISH and canvas["samples"] == list(doodles.NAMES)
    assert picture["cells"] == [4, 4] and picture["keys"][:2] == ["class token", "row 1, column 1"]
    assert "classifies the picture" in said(test)
    assert any("picture" in str(pills.options) for pills in test.button_group)


@pytest.mark.parametrize("view", ["heads", "full"])
def test_all_heads_and_the_full_view_follow(model: Model, view: str) -> None:
    assert sent(page("look", model="tiny-vit", text=FISH, view=view), "stack", "cells")


def test_a_sentence_in_the_link_is_no_doodle_and_is_told(model: Model) -> None:
    test = page("look", model="tiny-vit", text="The cat sat.")
    assert "28 by 28" in said(test)
    assert header(test, "doodle")["doodle"] == doodles.as_text(doodles.example("cat"))


def test_a_notebook_draws_a_run_on_its_picture(model: Model) -> None:
    picture = viz.picture_view(model.run(FISH), layer=1, head=2)
    assert repr(picture) == "<Picture: tiny-vit, self attention, L1.H2>"
    assert "viz.picture_view(run, layer=1, head=2, kind='self')" in picture.packet.header["python"]
    translator = core.serving.engine.default().open("tiny-translator")
    with pytest.raises(InputError, match="reads no picture"):
        viz.picture_view(translator.run("a dog"))
    with pytest.raises(InputError, match="no head 9"):
        viz.picture_view(model.run(FISH), head=9)
