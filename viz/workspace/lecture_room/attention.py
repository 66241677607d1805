"""The room's attention: each student touches the word to attend to; the distribution is compared with the heads of the models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from viz.classroom.ask import AnswerFormat, Question
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, fill, literal, query_and_key
from viz.languages import _
from viz.shell import errors, selection
from viz.shell.room_bar import lecture
from viz.widgets import engine_client, page_parts
from viz.workspace.lecture_room import heads_beside

KEY = f"{lecture.OWN}.attention"
TEXT = "The animal didn't cross the street because it was too tired."
ROWS = 8
"""The number of heads below the room, the nearest first."""
_QUESTION = "room.attention"


def form() -> Question | None:
    """Draw the sentence, the word that attends, and the button that asks; return the question once it is pressed."""
    sentence = st.text_input(
        _("The sentence"), selection.current_selection().get("text") or TEXT, key="room.looks.text"
    )
    words = heads_beside.words_of(sentence)
    if len(words) < 2:
        st.text(_("Type two words or more."))
        return None
    places = range(len(words))
    first = next((place for place in places if words[place][1] == "it"), len(words) - 1)
    at = st.selectbox(
        _("The word that attends (query)"), places, first, lambda place: literal(words[place][1])
    )
    if not st.button(_("Ask"), type="primary", key="room.looks"):
        return None
    with errors.guard():
        word, texts = words[at][1], tuple(word for _at, word in words)
        question = Question(
            KEY,
            _(
                "“{sentence}” Reading “{word}”: which word would you attend to? Touch it.",
                sentence=sentence,
                word=word,
            ),
            AnswerFormat("word", texts),
        )
        st.session_state[_QUESTION] = sentence, at
        return question
    return None


def show(question: Question) -> None:
    """Draw the attention of the room above the nearest heads of all models, with its divergence from each in bits."""
    sentence, at = st.session_state.get(_QUESTION, ("", 0))
    words = heads_beside.words_of(sentence)
    counts = np.array(question.form.tally(list(question.answers.values()))["counts"], dtype=float)
    if not counts.sum() or len(words) != len(counts):
        st.text(_("Nobody has answered."))
        return
    shares, begins = counts / counts.sum(), tuple(place for place, _word in words)
    heads = engine_client.submit(("room.heads", sentence), lambda: heads_beside.patterns(sentence), cost=30.0)
    found = heads_beside.ranked(shares, begins, at, heads)
    if not found:
        st.text(_("None of the models was trained on sentences like this one. Ask with an English sentence."))
        return
    near = found[:ROWS]
    names = [_("the room"), *(one.name.replace(" of ", " ") for one in near)]
    origin.tell(text=sentence)
    heatmap(
        np.stack([shares, *(one.row for one in near)]),
        names,
        distinct([word for _at, word in words]),
        key="room.looks.heads",
        title=_("Reading “{word}”", word=words[at][1]),
        axis=query_and_key(),
        numbers=True,
        margins=False,
    )
    best, last = found[0], found[-1]
    page_parts.dataframe(
        pd.DataFrame(
            {
                _("row"): range(1, len(near) + 1),
                _("head"): [one.name for one in near],
                _("Jensen-Shannon divergence (bits, maximum 1)"): [one.bits for one in near],
            }
        ),
        hide_index=True,
    )
    st.markdown(
        fill(
            _(
                "Of {n} heads **{best}** is nearest: Jensen-Shannon divergence {least} bits (maximum 1). The farthest, {last}, has {most}. Weights on tokens that a model adds to the text are left out."
            ),
            n=len(found),
            best=best.name,
            least=f"{best.bits:.2f}",
            last=last.name,
            most=f"{last.bits:.2f}",
        ),
        help=page_parts.glossary_help("Jensen-Shannon divergence"),
    )
