"""The steps on alignment: each draws its question, its picture and its sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis import preset_checks
from core.analysis.arithmetic.cell import cell_arithmetic, cell_paths
from core.run import Run
from viz.course.exhibit import Folds
from viz.course.kit import equation_view
from viz.course.why.alignment import maths
from viz.course.why.alignment.charts import mixing
from viz.course.why.alignment.params import CALLED, SLUG, Params
from viz.course.why.charts.unrolled import Lane, unrolled
from viz.instruments import ALIGNING, arithmetic, heatmap, words_view
from viz.instruments.kit import origin
from viz.labels import distinct, literal, percent, visible
from viz.languages import _
from viz.number_text import number
from viz.shell import state
from viz.widgets import controls, engine_client, exhibit_parts, page_parts


def guess(params: Params, data: maths.Data) -> Folds:
    """Ask for the source word with the largest weight while one word is written."""
    row, keys = maths.telling(data), distinct(data.words)
    weights, word, so_far = data.weights[row], data.written_tokens[row], " ".join(data.written_tokens[:row])
    most, after = np.argsort(weights)[::-1][:2] if len(keys) > 1 else (0, 0)
    told = exhibit_parts.predict(
        f"{SLUG}.first",
        _(
            "So far: “{so_far}”. Next it writes “{word}”. Which English word gets the most attention?",
            so_far=so_far or _("(nothing)"),
            word=word,
        ),
        dict(zip(keys, weights.tolist(), strict=True)),
        keys[most],
        _(
            "It gives {share} to “{word}” and {next_share} to “{next_word}”. No dictionary was given: the weights were learned from pairs of sentences alone.",
            share=percent(weights[most]),
            word=data.words[most],
            next_share=percent(weights[after]),
            next_word=data.words[after],
        ),
    )
    n, m = len(data.words), len(data.written_tokens)
    upto = m if told else row
    words_view(
        data.weights[:upto] if upto else np.zeros((1, n)),
        data.written_tokens[:upto] or ("START",),
        data.words,
        key=f"{SLUG}.words.{'all' if told else 'part'}",
        targets=[(written, i) for i, written in enumerate(data.written_tokens[:upto])],
        allowed=None if upto else np.zeros((1, n), bool),
        selected=row if told else None,
        special=((m - 1,), ()),
        names=(_("read"), _("written")),
        say=ALIGNING,
    )
    if told:
        said = _(
            "“{text}” For each of its {m} tokens (END is one of them) there are {n} new weights: {m} × {n} = {all}.",
            text=data.text,
            m=m,
            n=n,
            all=m * n,
        )
    else:
        said = _(
            "{model} has read {n} tokens and written {row}. The rest is shown after your guess.",
            model=data.model,
            n=n,
            row=row,
        )
    return _summary_and_folds(said, params, data, row, revealed=told)


def read(params: Params, data: maths.Data) -> Folds:
    """Draw the encoder's states of both directions, and the two joined."""
    n, p = data.ahead.shape
    back, both = data.back.shape[1], data.joined.shape[1]
    lanes = [Lane(_("from the left → ({n} × {p})", n=n, p=p), data.ahead, data.words, 8)]
    if back:
        lanes += [
            Lane(_("← from the right ({n} × {p})", n=n, p=p), data.back, (), 8, back=True),
            Lane(_("joined, hⱼ ({n} × {both})", n=n, both=both), data.joined, (), 16, arrows=False),
        ]
    room = exhibit_parts.presenting()
    page_parts.show(
        unrolled(lanes, pixels=6 if room else 8, large=1.5 if room else 1),
        f"{SLUG}.read",
        _("States of both directions of the encoder, and the two joined."),
    )
    at = n // 2
    between = _("”, “")
    left, right = between.join(data.words[: at + 1]), between.join(data.words[at:])
    return _summary_and_folds(
        _(
            "h_{place} of “{word}”: {p} numbers computed from “{left}” and {back} computed from “{right}”, {both} together.",
            place=at + 1,
            word=data.words[at],
            p=p,
            left=left,
            back=back,
            right=right,
            both=both,
        ),
        params,
        data,
        maths.telling(data),
    )


def look(params: Params, data: maths.Data) -> Folds:
    """Draw scores, weights, encoder states and the context vector of one written word."""
    written = distinct(data.written_tokens)  # the words to choose from are those of the run
    row = controls.pills(
        _("Written word"), range(len(written)), f"{SLUG}.word", maths.telling(data), written.__getitem__
    )
    scores, weights = data.scores[row], data.weights[row]
    figure = mixing(scores, weights, data.joined, data.contexts[row], distinct(data.words))
    page_parts.show_large(
        figure,
        f"{SLUG}.look",
        _("Scores, weights, encoder states and the context vector of one written word."),
        present_height=340,
    )
    most, total = int(weights.argmax()), float(np.exp(scores - scores.max()).sum())
    return _summary_and_folds(
        _(
            "Writing “{word}”: the largest score is {score}, of “{read_word}”. With this score subtracted from all, its weight is e^0 / {total} = {weight:.3f}; all {n} weights add up to {sum:.3f}.",
            word=data.written_tokens[row],
            score=number(float(scores[most])),
            read_word=data.words[most],
            total=number(total, 3),
            weight=weights[most],
            n=len(weights),
            sum=weights.sum(),
        ),
        params,
        data,
        row,
    )


def matrix(params: Params, data: maths.Data) -> Folds:
    """Draw the alignment matrix of the two sentences, as many rows as the slider says."""
    m = len(data.written_tokens)
    rows = state.read(f"{SLUG}.rows", m, state.whole_number(1, m)) if m > 1 else 1
    heatmap(
        data.weights[:rows],
        data.written_tokens[:rows],
        data.words,
        key=f"{SLUG}.matrix",
        axis=_axis(),
        title=_("aᵢⱼ of {model}", model=data.model),
        numbers=len(data.words) <= 16,
        height=200 if exhibit_parts.presenting() else 360,
    )
    last = data.weights[rows - 1]
    places = ", ".join(str(int(weights.argmax()) + 1) for weights in data.weights[:rows])
    folds = _summary_and_folds(
        _(
            "{rows} of {m} rows. The newest, “{word}”, attends most to “{read_word}” ({share}). Position with the largest weight, row by row: {places}.",
            rows=rows,
            m=m,
            word=data.written_tokens[rows - 1],
            read_word=data.words[int(last.argmax())],
            share=percent(last.max()),
            places=places,
        ),
        params,
        data,
        maths.telling(data),
    )
    if m > 1:
        controls.slider(_("Words written"), 1, m, f"{SLUG}.rows", m)  # as many as the run wrote
    return folds


def without_attention(params: Params, data: maths.Data) -> Folds:
    """Compare the translation with that of every score 0, and with that of one vector for the whole sentence."""
    room, n, cost = exhibit_parts.presenting(), len(data.words), len(params.text)
    with engine_client.many() as submit:
        key = ("alignment.even", data.model, params.text)
        text, weights, _off = submit(key, lambda: maths.even(data.model, params.text), 20 * cost)
        key = ("alignment.one", params.text, maths.usable(maths.ONE_VECTOR))
        single = submit(key, lambda: maths.one_vector(params.text), 10 * cost)
    own = _("A new cᵢ for each word") if room else _("{model}: a new cᵢ for each word", model=data.model)
    even = _("Every score 0") if room else _("The same model, every score 0")
    cards, maps = st.columns([2, 3], gap="medium") if room else (st.container(), st.container())
    with cards:
        places = [st.container() for _place in range(3)] if room else st.columns(3, gap="small")
    with places[0], _card():
        _translation(own, data.text)
        _telling_error(params.text, data.model, data.text)
    with places[1], _card():
        _translation(_("{label}: cᵢ is the mean of the {n} states", label=even, n=n), text)
    with places[2], _card():
        missing = _("{model} is not here yet.", model=maths.ONE_VECTOR)
        _translation(
            _("{model}: one c for the whole sentence", model=maths.ONE_VECTOR),
            missing if single is None else single,
        )
        _telling_error(params.text, maths.ONE_VECTOR, single)
    left, right = maps.columns(2, gap="medium")
    with left:
        trained = _("As it was trained")
        heatmap(
            data.weights,
            data.written_tokens,
            data.words,
            key=f"{SLUG}.with",
            axis=_axis(),
            title=trained,
            height=200,
        )
    with right:
        rows = [str(i) for i in range(1, len(weights) + 1)]
        origin.tell(
            model=data.model, text=params.text, second_text=text, kind="alignment", changed="every score 0"
        )
        heatmap(
            weights, rows, data.words, key=f"{SLUG}.even", axis=_axis(), title=_("Every score 0"), height=200
        )
    same = (
        _("The translation is still the same.") if text == data.text else _("The translation is different.")
    )
    return _summary_and_folds(
        _(
            "With equal scores each of the {n} weights is 1 / {n} = {weight:.3f} and c_i is the mean of the h_j: every word gets the same vector. {same}",
            n=n,
            weight=1 / n,
            same=same,
        ),
        params,
        data,
        maths.telling(data),
    )


def who_asks(params: Params, data: maths.Data) -> Folds:
    """Draw the alignments of both models, one asking with s_{t-1}, one with s_t."""
    found: dict[str, maths.Data] = {}
    with engine_client.many() as submit:
        for asks, model in maths.ASKERS.items():
            if maths.usable(model):
                key, cost = (SLUG, model, params.text), 20 * len(params.text)
                found[asks] = submit(key, lambda model=model: maths.translated(model, params.text), cost)
    columns = st.columns(2, gap="medium")
    for column, (asks, each) in zip(columns, found.items(), strict=False):
        with column:
            origin.tell(model=each.model, text=params.text, second_text=each.text, kind="alignment")
            title = f"{CALLED[asks]}: {each.model}"
            heatmap(
                each.weights,
                each.written_tokens,
                each.words,
                key=f"{SLUG}.asks.{asks}",
                axis=_axis(),
                title=title,
                height=190 if exhibit_parts.presenting() else 300,
            )
            st.text(each.text)
            _telling_error(params.text, each.model, each.text)
    if len(found) < 2:
        columns[1].text(
            _(
                "{model} is not here yet: one model is shown. Each model was trained with one of the two queries; a trained model cannot be switched to the other.",
                model=maths.ASKERS["now"],
            )
        )
    said = [
        _(
            "The query of {model} is {query}; the largest weight of a row is {share} on average.",
            model=each.model,
            query=CALLED[asks].partition(",")[0],
            share=percent(float(each.weights.max(1).mean())),
        )
        for asks, each in found.items()
    ]
    return _summary_and_folds(" ".join(said), params, data, maths.telling(data))


def _axis() -> tuple[str, str]:
    return _("written"), _("read")


def _card() -> DeltaGenerator:
    return st.container(border=not exhibit_parts.presenting(), gap=None, height="stretch")


def _translation(label: str, text: str) -> None:
    st.markdown(f":gray[{literal(label)}]")
    st.markdown(f"{'####' if exhibit_parts.presenting() else '###'} {literal(text or _('(nothing)'))}")


def _telling_error(text: str, model: str, translation: str | None) -> None:
    """Write that the translation of a ready-made sentence is wrong; in present mode in a few words."""
    if (
        translation
        and (found := preset_checks.check_translation(text, model, translation))
        and not found.passed
    ):
        if exhibit_parts.presenting():
            st.text(_("A telling error: right is “{right}”.", right=found.right))
        else:
            st.text(
                _(
                    "A telling error: {model} writes “{translation}”; right is “{right}”.",
                    model=model,
                    translation=translation,
                    right=found.right,
                )
            )


def _summary_and_folds(
    sentence: str, params: Params, data: maths.Data, row: int, *, revealed: bool = True
) -> Folds:
    """Write the sentence of numbers, say whether another model is shown instead, and return the folds."""
    page_parts.summary(sentence)
    if not maths.usable(wanted := maths.ASKERS[params.asks]):
        st.caption(
            _("{model} is not here yet. Shown instead: {other}.", model=wanted, other=maths.ASKERS["before"])
        )

    def table() -> pd.DataFrame:
        weights = np.round(data.weights.astype(float), 4)
        frame = pd.DataFrame(weights, index=distinct(data.written_tokens), columns=distinct(data.words))
        frame["their sum"] = np.round(data.weights.sum(1), 4)
        scores = np.round(data.scores[row].astype(float), 4)
        last: Any = [*scores, None]
        frame.loc[f"scores of {visible(data.written_tokens[row])}"] = last
        return frame

    arrays = {
        "queries": np.array(data.written_tokens),
        "keys": np.array(data.words),
        "scores": data.scores,
        "weights": data.weights,
        "h": data.joined,
        "c": data.contexts,
    }

    def archive() -> dict[str, Any]:
        both = maths.split_score(_run(params, data), row)
        return arrays | ({} if both is None else {"difference": both.gap})

    return Folds(table, archive, code(params, data), revealed, more=lambda: _equations(params, data, row))


def _equations(params: Params, data: maths.Data, row: int) -> None:
    """Show similarity, softmax and context of one row, for the source word that is chosen here."""
    keys = distinct(data.words)
    most = int(data.weights[row].argmax())
    key = controls.pills(_("Source word"), range(len(keys)), f"{SLUG}.key", most, keys.__getitem__)
    score, weight = number(float(data.scores[row, key]), 4), number(float(data.weights[row, key]), 4)
    marks = {"a_ij": _("a bar, and a cell of the matrix"), "h_j": _("a tile"), "c_i": _("the last tile")}
    equation_view.show("attention.probability", SLUG)
    equation_view.show("attention.context", SLUG, marks=marks)
    equation_view.show("attention.similarity", SLUG, values={"s_ij": score})
    equation_view.show("attention.softmax", SLUG, values={"a_ij": weight, "s_ij": score})
    asks = _("s_(t-1), as in these equations") if data.before == 0 else _("s_t: read l_i in place of l_(i-1)")
    page_parts.summary(
        _(
            "The query of {model} is {asks}. Its largest difference from s_(t-1) is {before:.2g}, from s_t {now:.2g}.",
            model=data.model,
            asks=asks,
            before=data.before,
            now=data.now,
        )
    )
    run = _run(params, data)
    lines = cell_arithmetic(run, "alignment", 0, 0, row, key)
    arithmetic(lines, key=f"{SLUG}.lines", words=(data.written_tokens[row], data.words[key]))
    _split(run, row)
    _slopes(data, row)


def _run(params: Params, data: maths.Data) -> Run:
    """Return the same run with the values that the arithmetic needs."""
    first = engine_client.run(data.model, params.text, keep=maths.NEEDED)
    kept = dict.fromkeys((*maths.NEEDED, *cell_paths(first, "alignment", 0)))
    return engine_client.run(data.model, params.text, keep=tuple(kept))


def _split(run: Run, row: int) -> None:
    found = maths.split_score(run, row)
    if found is None:
        st.text(_("This model scores s W h; nothing is joined."))
        return
    scores = ", ".join(number(float(s), 3) for s in found.stacked)
    equation_view.show("bahdanau.score", SLUG)
    equation_view.show("bahdanau.split", SLUG)
    page_parts.summary(
        _(
            "Both formulas give these scores for this row ({n} hidden numbers): {scores}. Largest difference {gap:.0e}. W_2 h_j is the same for every written word, so it is computed once per sentence.",
            n=found.width,
            scores=scores,
            gap=found.gap,
        )
    )


def _slopes(data: maths.Data, row: int) -> None:
    weights, keys = data.weights[row].astype(float), distinct(data.words)
    most, slopes = int(weights.argmax()), maths.slopes(weights)
    page_parts.equation(
        r"\frac{\partial a_{ij}}{\partial s_{ik}} = a_{ij} (\delta_{jk} - a_{ik}) "
        r"= \left[\mathrm{diag}(a_i) - a_i a_i^\top\right]_{jk}"
    )
    heatmap(
        slopes,
        keys,
        keys,
        key=f"{SLUG}.slopes",
        scale="difference",
        limit=0.25,
        axis=(_("weight"), _("score")),
        title=_("The derivative of each weight with respect to each score"),
        numbers=True,
        height=240,
    )
    st.text(
        _(
            "Raise the score of “{word}” by 0.1 and its weight moves by about {change:+.4f}; together the other weights lose as much. In a row with one weight near 1 all slopes are near 0, so training hardly changes the row any more.",
            word=data.words[most],
            change=0.1 * slopes[most, most],
        )
    )


def code(params: Params, data: maths.Data) -> str:
    """Return lines of Python that compute the numbers of the page."""
    return (
        f"import core\n\nmodel = core.open_model({data.model!r})\nrun = model.run({params.text!r})\n"
        "print(run.target_text)\n"
        "a = run.attention('alignment', writing=True)\n"
        "print(a.weights[0, 0].round(4))  # (written, read)\n"
        "h = run.trace['encoder.layer.0.hidden']\nc = a.weights[0, 0] @ h\n"
        f"even = model.run({params.text!r}, edits=[core.edits.Uniform('decoder.attn.scores')])  # c = mean of h\n"
        "print(even.target_text)"
    )
