"""README's picture says of itself what the first screen says: the same sentence, translation, touched word and look."""

from __future__ import annotations

from app_server import ROOT
from picture import LINE, PICTURE, README, alt
from PIL import Image

from viz.instruments.words.words import start
from viz.workspace.look import page
from viz.workspace.shared import attention_kinds, head_pills, head_ref


def test_the_words_of_the_picture_are_those_of_the_first_screen() -> None:
    found = page.compute(page.Params())
    place = head_pills.chosen_head(found.heads)
    seen = head_ref.attention_of(found.run, place.kind)
    drawn, weights = head_ref.target_words(seen), seen.weights[place.layer, place.head]
    side, index = start(
        weights,
        seen.allowed[place.layer, place.head],
        drawn,
        len(seen.keys),
        head_pills.touched_word(found.run, place.kind),
        attention_kinds.layout(place.kind),
    )
    assert side == "target"
    word, row = drawn[index]
    said = alt(page.Params.text, found.run.target_text or "", word, seen.keys[int(weights[row].argmax())])
    line = LINE.search(README.read_text("utf-8"))
    assert line and line[0] == f"![{said}]({PICTURE})", "take it again: python tests/picture.py"


def test_the_picture_is_a_screen() -> None:
    with Image.open(ROOT / PICTURE) as picture:
        assert (
            picture.size == (2560, 1440)
            and len(picture.convert("RGB").resize((256, 144)).getcolors(40_000) or []) > 30
        )
