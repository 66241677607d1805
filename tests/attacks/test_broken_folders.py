"""One broken folder among the operator's: it is listed with its problem, and the others are as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from crafting import CONFIG, good_folder
from typed_texts import drawn

from core.checkpoints import find, listing, open_model, steps_of
from core.checkpoints.foreign import formats
from core.errors import InputError
from core.serving import engine
from core.serving.engine import Engine


def circle(path):
    """A link that points to itself."""
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)


@pytest.fixture
def shelved(tmp_path, monkeypatch):
    """A good folder and one to be broken, offered by the operator."""
    monkeypatch.setenv(find.VARIABLE, f"~nobody-of-this-name/models:{tmp_path / 'models'}")
    good_folder(tmp_path / "models" / "good")
    return good_folder(tmp_path / "models" / "broken")


def local():
    """What is listed of the operator's folders."""
    return {
        entry.name: entry
        for entry in listing()
        if entry.name not in find._shipped(find.manifest.shipped_folder())
    }


@pytest.mark.quick(1)
@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "README.md"])
def test_a_circle_of_links_is_refused_alone(shelved, file):
    circle(shelved / file)
    assert local()["good"].ok
    with pytest.raises(InputError, match=rf"{file} is not a file"):
        open_model("broken")
    assert open_model("good").run("the street").side.text == "the street"


def test_a_circle_in_the_place_of_the_weights_is_listed_with_its_problem(shelved):
    circle(shelved / "model.safetensors")
    assert "not a file" in local()["broken"].problem


def test_a_circle_in_the_place_of_a_history_says_so(shelved):
    circle(shelved / "history.safetensors")
    assert local()["broken"].ok
    with pytest.raises(InputError, match="history.safetensors is not a file"):
        steps_of("broken")


def test_a_circle_in_the_place_of_a_folder_or_a_config_is_no_model(shelved):
    circle(shelved / "config.json")
    (shelved.parent / "round").symlink_to("round")
    assert set(local()) == {"good", "~nobody-of-this-name/models".rpartition("/")[2]}


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch, file):
    folder, opened = good_folder(tmp_path / "model"), Path.open

    def refusing(path, *given, **more):
        if path.name == file:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *given, **more)

    monkeypatch.setattr(Path, "open", refusing)
    with pytest.raises(InputError, match=f"^{file} cannot be read: Permission denied") as caught:
        open_model(folder)
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "error", [PermissionError("/home/me"), OSError("/home/me: stale handle"), RuntimeError("/home/me: loop")]
)
def test_whatever_one_folder_does_the_others_are_listed(shelved, monkeypatch, error):
    inspect = find.inspect

    def failing(folder):
        if folder.name == "broken":
            raise error
        return inspect(folder)

    monkeypatch.setattr(find, "inspect", failing)
    found = local()
    assert found["good"].ok
    assert not found["broken"].ok
    assert "cannot be read" in found["broken"].problem
    assert "/home" not in found["broken"].problem


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"config": CONFIG | {"model_type": "xlnet"}},
            f"model_type is 'xlnet'. Kinds read here: {', '.join(sorted(formats()))}",
        ),
        ({"tokenizer": False}, "tokenizer.json"),
    ],
    ids=["another kind", "no tokenizer"],
)
def test_a_link_to_a_model_that_cannot_be_opened_says_why_and_offers_others(
    shelved, monkeypatch, change, why
):
    good_folder(shelved, **change) if "config" in change else (shelved / "tokenizer.json").unlink()
    with Engine() as served:
        monkeypatch.setattr(engine, "_default", served)
        test = drawn("look", model="broken")
    assert not test.exception
    told = " ".join(str(element.value) for element in (*test.text, *test.markdown, *test.caption)).replace(
        "\\", ""
    )
    assert why in told and "one of:" not in told
    assert test.text_input and len(test.button_group) == 1, "a text can be typed, another model taken"
