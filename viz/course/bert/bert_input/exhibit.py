"""What BERT reads: words cut into pieces, marks around them, and three vectors added at each place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.bert.bert_input import pieces as cuts
from viz.course.bert.bert_input import sums
from viz.course.bert.bert_input.maths import input_sum, wordpiece
from viz.course.shared.shown import folds as show
from viz.instruments.kit import origin
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

EXHIBIT = Exhibit(
    title="BERT's input", chapter=Chapter.BERT, order=10, minutes=8,
    claim="Words are cut into subword tokens (WordPiece). Each position is then a sum: token, segment and position embedding.",
    cites=(
        Cite("beigy2024", "BERT, input", "table of 11 tokens", step=3),
        Cite("beigy2021", "BERT, input", "table of 11 tokens", step=3),
        Cite("lifei2022", "BERT, quotation from the paper"),
        Cite("wu2016", "section 4.1", "wordpiece model", step=1),
        Cite("devlin2019", "section 3", "Figure 2", step=4),
    ),
)  # fmt: skip
SLUG = "bert_input."
STEPS = (
    lesson.Step("Pieces", "WordPiece: from the left, always the longest piece that the vocabulary holds. ## marks a piece that continues a word."),
    lesson.Step("Two vocabularies", "Another vocabulary cuts otherwise. Where a letter is missing, the whole word is unknown."),
    lesson.Step("Marks", "[CLS] stands first, [SEP] ends each text. Every token has a segment, A or B, and a position."),
    lesson.Step("Sum", "Three tables give a vector each: token, segment and position embedding. BERT reads their sum."),
    lesson.Step("Without", "Set one of the three to zero. What changes in the last layer?"),
)
VOCABULARIES = 1
MODEL = "bert-mini"
LONGEST = 32


@dataclass(frozen=True)
class Params:
    """What the visitor chose: two texts, the pieces of the vocabulary, a word, a place, the part that is off, whose pieces stand in the table."""

    text: str = wordpiece.EXAMPLE[0]
    pair: str = wordpiece.EXAMPLE[1]
    pieces: str = wordpiece.DOCUMENTS
    word: int = 6
    place: int = 8
    off: str = "position"
    whose: str = cuts.WHOSE[0]


def compute(params: Params = Params()) -> input_sum.Sum:
    """The three vectors of each of bert-mini's tokens, and their sum. Errors: InputError for no word, or more than can be drawn."""
    model = default().open(MODEL)
    n = sum(len(model.tokenizer.encode(text).ids) for text in (params.text, params.pair))
    if n > LONGEST:
        raise InputError(f"The two texts have {n} pieces.", f"This page draws up to {LONGEST}.", "Shorten one, or take the example.")
    run = default().run(RunRequest(MODEL, params.text, pair=params.pair if params.pair.strip() else None, keep=input_sum.KEEP))
    return input_sum.summed(run)


def thumbnail() -> str:
    """Piece, text, place and their sum, the first numbers of one token."""
    found = compute()
    rows = [*(found.parts[name][Params.place] for name in input_sum.PARTS), found.total[Params.place]]
    return thumbs.cells(np.stack(rows)[:, :16], centred=True)


def chosen(step: int) -> Params:
    """The visitor's choices; two vocabularies are compared with pieces that cut otherwise."""
    start = Params(pieces=wordpiece.OTHER) if step == VOCABULARIES else Params()
    reads = {"word": state.whole(0, 63), "place": state.whole(0, LONGEST + 2), "off": state.one_of(input_sum.PARTS, start.off), "whose": state.one_of(cuts.WHOSE)}
    texts = {"text": state.read("text", start.text), "pair": state.read("pair", start.pair), "pieces": state.read(SLUG + "pieces", start.pieces)}
    return Params(**texts, **state.read_all(SLUG, start, reads))


def page() -> None:
    """Claim, steps, one picture, one sentence of numbers, its control; the texts; everything else folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    params = chosen(step)
    with errors.guard():
        data = ask.submit(("bert_input", params.text, params.pair), lambda: compute(params), 10 * max(1, len(params.text + params.pair)))
        origin.tell(model=MODEL, text=params.text, beside=params.pair)
        with st.container(key=f"bert-picture-{step}"):
            shown = (cuts.cut, cuts.vocabularies, cuts.marks, sums.added, sums.without)[step](params, data)
        show(EXHIBIT, "bert_input", str(step), shown, lambda: st.markdown(sums.TRY[step]), lambda: lesson.errata("E41", "E43"))
    with st.container():
        if not lesson.presenting():
            controls.text("First text", "text", Params.text, placeholder="Type a text", drops=(SLUG + "word", SLUG + "place"), of=MODEL, most=f"up to {LONGEST} tokens, both together")
            controls.text("Second text (leave it empty for none)", "pair", Params.pair, drops=(SLUG + "word", SLUG + "place"), of=MODEL, most=f"up to {LONGEST} tokens, both together")
