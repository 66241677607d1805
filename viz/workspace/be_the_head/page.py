"""Be the head: share out one row of attention yourself, put it into the model, and see whether it still says the right word."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st

from core.layers.score_terms import columns
from viz.charts import marks
from viz.instruments import heatmap
from viz.labels import bare_token, distinct, head_name, literal, percent, visible
from viz.languages import _, mark
from viz.shell import errors, state
from viz.shell.pages import Cite, Page
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.widgets.export import Labelled
from viz.workspace.be_the_head import data, row, whole_class
from viz.workspace.be_the_head.data import TOTAL, Game
from viz.workspace.be_the_head.whole_class import Class
from viz.workspace.shared import attention_kinds, model_run, toolbar

PAGE = Page(
    title="Be the head",
    order=48,
    claim="You have 100% of attention to give. Where would you attend, so that the model predicts the right word?",
    cites=(
        Cite("vaswani2017", "3.2.1", "Eq. (1)"),
        Cite("ghojogh2020", "2.4.3", "Eqs. (13)-(16)"),
        Cite("beigy2021", "Self-attention", "each word is key, query and value"),
    ),
    menu="lab",
    activity="a game",
)
EQUATION = r"z = \sum_j a_j\, v_j, \qquad a_j \ge 0, \quad \sum_j a_j = 1"
LOOKING = mark(
    "A head makes, for each word, a row of weights that add up to {whole}: how much of each word's value it fetches. Here you write that row for one word and one head; "
    "all other heads of the model work as usual. You do not choose what is fetched, only from where: the values are the model's own. The head was chosen by a measurement: of all heads, it is the one whose uniform row lowers the probability of the right word most. You may do better than the head: it was trained on all sentences at once, not on this one.{sink}"
)
CODE = """import core

model = core.open_model({model!r})
row = core.edits.SetPattern({path!r}, query={query}, weights={weights}, head={head})
run = model.run({text!r}{target}, edits=[row])
print(run.logits[{query}].argmax())"""
TEXT = "The king had a red horse. The red horse"
"""Of nine beginnings that were measured the one whose last word hangs most on the row of one head."""
HEADS = 6
"""So many heads are offered, those first whose row matters most."""


@dataclass(frozen=True)
class Params(Selection):
    """One text through one model; the head and the row of a translation, None for the telling ones."""

    model: str = toolbar.MODEL
    text: str = TEXT
    row: int | None = None


def compute(p: Params) -> Game:
    return data.game(p, p.row)


def page() -> None:
    page_parts.title(PAGE)
    bench = toolbar.choose("be_the_head", text=TEXT, runs=toolbar.heads, opening=data.opening)
    if bench is not None:
        _played(bench)


@st.fragment
def _played(bench: toolbar.Bench) -> None:
    with errors.guard():
        found = _controls(bench.selection)
        bench.announce(found.run, found.place)
        shares, put = row.shares_in_link(len(found.keys))
        with st.container():  # always there, whether something is computed or not
            room = whole_class.ask(found, shares, put)
            alone = put and (room is None or shares != data.evenly(len(shares)))
            yours = data.played(found, shares) if alone else None
        st.markdown(_task(found))
        if found.true < data.EXPECTED:
            st.caption(_unexpected(found))
        left, right = st.columns([4, 3], gap="large")
        with left:
            row.controls(found, shares)
            _rows(found, shares if alone or not put else None, put, room)
        with right:
            rows: dict[str, float | None] = {_("uniform attention"): found.even}
            rows |= {_("the room"): room.probability} if room else {}
            rows |= {_("you"): yours} if alone or not put else {}
            rows[_("the head itself, {head}", head=found.place)] = found.true if put else None
            page_parts.show(
                marks.bars(pd.Series(rows, dtype=float), percent, highlighted=(_("the room"), _("you"))),
                "be_the_head.bars",
                _(
                    "How probable “{word}” is: with uniform attention, with yours, with the head's own",
                    word=visible(found.word),
                ),
            )
            if room:
                page_parts.summary(whole_class.sentence(found, room))
            if alone or not put:
                page_parts.summary(_sentence(found, shares, yours))
        _folds(found, shares, put, room)


def _controls(selection: Selection) -> Game:
    """Draw the choice of the head, and of a translation the word to be written."""
    reader = model_run.open_model(selection.model)
    kind = reader.spec.kinds_of(reader.config)[-1].name
    linked = state.peek("kind")
    if linked not in ("", kind):
        st.caption(
            _(
                "The head of the page before belongs to “{linked}”. Here you are one of “{kind}”, which speaks in the last step.",
                linked=_(attention_kinds.KINDS.get(linked, literal(linked))),
                kind=_(attention_kinds.KINDS[kind]),
            )
        )
    layer, head = (
        state.read(name, -1, state.whole_number(-1, 999)) if linked == kind else -1
        for name in ("layer", "head")
    )
    at = state.read("be_the_head.at", -1, state.whole_number(-1, 10_000))
    if min(layer, head) >= 0:
        selection = replace(selection, layer=layer, head=head)
    with st.container():
        found = compute(Params(**vars(selection), row=at if at >= 0 else None))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        _choose_head(found)
        if found.run.source is not None:
            words = distinct(token.strip() or token for token in found.run.side.next_tokens().tokens)
            controls.select(
                _("The word to be written"),
                list(range(found.run.side.n_real - 1)),
                "be_the_head.at",
                found.row,
                words.__getitem__,
            )
    return found


def _choose_head(game: Game) -> None:
    """Draw the heads whose rows matter most, and the one in view."""
    here = game.place.layer, game.place.head
    offered, key = list(dict.fromkeys((*game.heads[:HEADS], here))), "be_the_head.who"
    lit = state.seed_widget(key, here)

    def store() -> None:
        layer, number = st.session_state[key]
        state.write(kind=game.place.kind, layer=layer, head=number)

    st.selectbox(
        _("You are"),
        offered,
        offered.index(lit),
        format_func=lambda head: _head(game, head),
        key=key,
        on_change=store,
        label_visibility="collapsed",
    )


def _head(game: Game, head: tuple[int, int]) -> str:
    lost = game.true - float(game.table[head])
    values = {"head": head_name(*head), "points": 100 * abs(lost)}
    if lost > 0:
        return _("You are {head}: a uniform row costs {points:.0f} points", **values)
    return _("You are {head}: a uniform row gains {points:.0f} points", **values)


def _task(game: Game) -> str:
    word = f"**{literal(bare_token(game.word))}**"
    if game.run.source is not None:
        return _(
            "The model has read the sentence below and is about to write {word}. You are {head}: from which of its tokens would you fetch? Share out 100%.",
            word=word,
            head=game.place,
        )
    return _(
        "The model has read the tokens below; the right next word is {word}. You are {head}, and the query is the last token. To which tokens would you attend? Share out 100%.",
        word=word,
        head=game.place,
    )


def _unexpected(game: Game) -> str:
    """Return why the game is hard to win here, and a text with which it is not. No number: the page shows it once the row is put in."""
    top = game.run.model.tokenizer.token(int(game.run.logits[game.row].argmax()))
    return literal(
        _(
            "{model} itself does not expect “{word}” here: it gives the word less than {share}, and “{top}” the most. So no row of one head will make it probable. Type a text that ends in a word that the model expects.",
            model=game.run.model.name,
            word=visible(game.word),
            share=percent(data.EXPECTED),
            top=visible(top),
        )
    )


def _rows(game: Game, shares: tuple[int, ...] | None, put: bool, room: Class | None) -> None:
    """Draw the visitor's row, and a class's; the head's own below them once it is revealed."""
    who = {
        **({_("the room"): room.row} if room else {}),
        **({_("you"): np.array(shares) / TOTAL} if shares else {}),
        **({str(game.place): game.true_row} if put else {}),
    }
    revealed = (
        _("The room's row, and the head's own") if shares is None else _("Your row, and the head's own")
    )
    keys = [visible(name) for name in game.names]
    heatmap(
        np.stack(list(who.values())),
        list(who),
        keys,
        key="be_the_head.rows",
        axis=(_("who"), _("token looked at")),
        height=110 + 40 * len(who) if room else 150,
        numbers=len(keys) <= 16,
        title=revealed if put else _("Your row; the head's own is hidden"),
        margins=False,
    )


def _sentence(game: Game, shares: tuple[int, ...], yours: float | None) -> str:
    word = visible(game.word.strip() or game.word)
    if yours is None:
        spent = sum(shares)
        do = (
            _("When you are content, press “Put it into the model”.")
            if spent == TOTAL
            else _("You have {n}% left.", n=TOTAL - spent)
        )
        said = _(
            "With uniform attention to its {n} tokens, the head leaves “{word}” at {share}.",
            n=len(game.keys),
            word=word,
            share=percent(game.even),
        )
        return f"{said} {do}"
    place = data.best(game)
    better = _better(game, shares, yours)
    return _(
        "With your row “{word}” has {yours}; with the head's own {own}, with a uniform one {even}. {better}. The head itself looks most at “{key}”, {weight}.",
        word=word,
        yours=percent(yours),
        own=percent(game.true),
        even=percent(game.even),
        better=better,
        key=visible(game.names[place].strip() or game.names[place]),
        weight=percent(game.true_row[place]),
    )


def _better(game: Game, shares: tuple[int, ...], yours: float) -> str:
    """Return which of the other rows the visitor's beat; equal numbers on the page are no victory."""
    if shares == data.evenly(len(shares)):
        return _("Yours is the uniform row: share it out otherwise")
    level = percent(yours) == percent(game.even)
    if yours > game.true:
        return _("You did better than the head")
    return (
        _("It is as good as uniform attention")
        if level
        else _("You did better than uniform attention")
        if yours > game.even
        else _("Uniform attention does better")
    )


def _looking(game: Game) -> str:
    kind = game.run.model.spec.kind(game.place.kind)
    if not columns(kind.terms(game.run.model.network, game.place.layer)):
        return _(LOOKING, whole=1, sink="")
    spent = percent(game.true_row.sum())
    return _(
        LOOKING,
        whole=_("1, or to less where a learned sink takes some"),
        sink=_(
            " Its own row gives {share} to the tokens, the sink takes the rest. You may spend all of the weight on tokens, which the head itself cannot.",
            share=spent,
        ),
    )


def _folds(game: Game, shares: tuple[int, ...], put: bool, room: Class | None) -> None:
    with page_parts.fold(page_parts.EQUATION, "be_the_head.equation") as fold:
        if fold.open:
            page_parts.equation(EQUATION)
            page_parts.summary(
                " + ".join(
                    f"{share / TOTAL:.2f} × v({visible(name)})"
                    for share, name in zip(shares, game.names, strict=True)
                    if share
                )
                or "0"
            )
    with page_parts.fold(page_parts.LOOKING, "be_the_head.looking") as fold:
        if fold.open:
            st.markdown(_looking(game))
    page_parts.sources_fold(PAGE)
    page_parts.table_fold(
        lambda: pd.DataFrame(
            {
                _("piece"): [visible(name) for name in game.names],
                _("you"): np.array(shares) / TOTAL,
                **({_("the room"): room.row} if room else {}),
                **({_("the head"): game.true_row} if put else {}),
            }
        ),
        "be_the_head",
    )
    weights = np.zeros(game.run.trace[game.path].shape[-1])
    weights[game.keys] = np.array(shares) / TOTAL
    run = game.run
    target = f", target={run.target_text!r}" if run.source is not None else ""
    code = CODE.format(
        model=run.model.name,
        path=game.path,
        query=game.row,
        weights=tuple(weights.tolist()),
        head=game.place.head,
        text=(run.source or run.side).text,
        target=target,
    )
    page_parts.export_fold(
        lambda: {
            name: Labelled(np.asarray(row), {"key": distinct(game.names)})
            for name, row in {
                "you": np.array(shares) / TOTAL,
                **({"the head": game.true_row} if put else {}),
            }.items()
        },
        code,
        key="be_the_head",
    )
