"""Prompts: a task put as text, and how probable the right answer is beside wrong ones; the prompt word that chooses the task."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.decoding import Greedy, decode
from core.model import Model
from viz.course.shared.prompts import FORMS, QUESTIONS, TEMPLATES, Answer, answers, rows, toy_prompts
from viz.instruments import candidates
from viz.instruments.candidates.candidates import Bar
from viz.labels import percent, visible
from viz.languages import _, mark
from viz.widgets import controls, engine_client, page_parts
from viz.workspace.decode.pictures import tail
from viz.workspace.shared.toy_models import KIND

HONEST = mark(
    "The model writes nothing here: the bars compare the probability of the right answer with that of wrong ones. The shares are among these candidates only."
)
EXAMPLES = {
    "classification": {"text": "The soup was cold and the bread was old."},
    "entailment": {"premise": "All the children are asleep.", "hypothesis": "Nobody is awake."},
    "similarity": {"first": "The dog ran home.", "second": "Home ran the dog."},
    "multiple choice": {"context": "The sky is"},
}
CHOICES = (" blue", " loud", " seven")


def show(model: Model, text: str) -> None:
    """Draw tasks that the model was asked for without training; for the toy model its three prompt words."""
    if KIND.get(model.name) == "prompt":
        _toy(model, text)
    else:
        _task(model)
    with page_parts.fold(_("The input of GPT-1: rows with special tokens"), "decode.prompts.rows") as opened:
        if opened.open:
            _rows(model)


def _task(model: Model) -> None:
    titles = [
        f"{TEMPLATES[task.template].title}: {tail(task.prompt.splitlines()[-1], 56)}" for task in QUESTIONS
    ]
    number = titles.index(
        controls.select(
            _("A task"),
            titles,
            "decode.task",
            titles[0],
            lambda title: ": ".join((_(title.partition(": ")[0]), title.partition(": ")[2])),
        )
    )
    task = QUESTIONS[number]
    prompt = st.text_area(_("The prompt"), task.prompt, key=f"decode.prompt.{number}")
    box = st.text_input(
        _("Candidates, a bar between them; the right one first"),
        " |".join(task.candidates),
        key=f"decode.answers.{number}",
    )
    wanted = tuple(part.rstrip() for part in box.split("|") if part.strip())
    found: list[Answer] = engine_client.submit(
        ("decode.answers", model.name, prompt, wanted),
        lambda: answers(model, prompt, wanted),
        cost=len(prompt) + 100,
    )
    order = sorted(range(len(found)), key=lambda i: found[i].place)
    candidates(
        [Bar(i, found[i].text, found[i].share, found[i].share) for i in order],
        taken_id=order[0],
        key="decode.prompts.bars",
        title=_("Shares of the candidates"),
    )
    right = found[0]
    values = {
        "answer": right.text.strip(),
        "share": percent(right.share),
        "rank": right.rank,
        "model": model.name,
        "says": _(TEMPLATES[task.template].says),
    }
    page_parts.summary(
        _(
            "The right answer, “{answer}”, comes first with {share}; its first token has rank {rank:,} among all tokens of {model}. {says}",
            **values,
        )
        if right.place == 1
        else _(
            "The right answer, “{answer}”, comes in place {place} of {n} with {share}; its first token has rank {rank:,} among all tokens of {model}. {says}",
            place=right.place,
            n=len(found),
            **values,
        )
    )
    st.caption(_(HONEST))
    with page_parts.fold(_("Token by token"), "decode.prompts.table") as opened:
        if opened.open:
            table = [
                (
                    visible(each.text),
                    " · ".join(map(visible, each.tokens)),
                    each.logprob,
                    each.mean,
                    each.share,
                    each.rank,
                )
                for each in found
            ]
            page_parts.dataframe(
                pd.DataFrame(
                    table,
                    columns=[
                        _("candidate"),
                        _("tokens"),
                        "ln p",
                        _("ln p per token"),
                        _("share"),
                        _("rank of its first token"),
                    ],
                ),
                hide_index=True,
                key="decode.prompts.answers",
            )


def _toy(model: Model, text: str) -> None:
    """Draw the same letters after each prompt word: one set of weights, three tasks."""
    letters = (
        "".join(letter for letter in text.rpartition(":")[2] if letter.isascii() and letter.isalpha())[:8]
        or "hello"
    )
    st.markdown(_("**The same weights and the same letters; the word in front chooses what is done**"))
    for toy in toy_prompts(letters):
        wrote = engine_client.submit(
            ("decode.toy", model.name, toy.prompt),
            lambda toy=toy: _write(model, toy.prompt, len(toy.answer) + 2),
            cost=200,
        )
        st.text(
            _("{prompt} → {wrote}  (right)", prompt=toy.prompt, wrote=wrote)
            if wrote == toy.answer
            else _(
                "{prompt} → {wrote}  (wanted: {answer})", prompt=toy.prompt, wrote=wrote, answer=toy.answer
            )
        )


def _write(model: Model, prompt: str, most: int) -> str:
    return "".join(
        step.token for step in decode(model, prompt, Greedy(), max_new_tokens=most) if step.reason != "end"
    ).strip()


def _rows(model: Model) -> None:
    for name, form in FORMS.items():
        st.markdown(f"**{_(form.title)}** ({name})")
        for row in rows(model, form, EXAMPLES[name], CHOICES if "answer" in form.fields else ()):
            st.text(" ".join(visible(token) for token in row.tokens))
        st.caption(_(form.head))
