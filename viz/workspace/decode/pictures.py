"""The pictures of Decode, and the sentence of numbers: everything made from the steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from core.analysis.loops import find_loop
from core.analysis.preset_checks import check_translation
from core.decoding import Candidate, Step, prompt_of
from viz.instruments import WRITING, Sentences, candidates, heatmap, timeline, words_view
from viz.instruments.candidates.candidates import Bar, SampledNumber, Way
from viz.instruments.kit import origin
from viz.instruments.timeline.timeline import Moment
from viz.labels import literal, percent, query_and_key, visible
from viz.languages import _, mark, ngettext
from viz.number_text import whole_from
from viz.shell import state
from viz.widgets.input_hints import is_shipped
from viz.workspace.decode.sampling_arithmetic import title, way
from viz.workspace.shared import one_vector

ROWS, IN_A_ROOM = 10, 5
"""Candidates that are listed; in present mode fewer, so that the page fits its window."""
CANDIDATES, TIMELINE = "decode.candidates", "decode.timeline"
REASONS = {"forced": mark("put in by you"), "draw": mark("drawn"), "rule": mark("always written first")}
ONE = replace(
    WRITING,
    spreads=mark(
        "Writing {word}, this head spreads its attention: 90% of it falls on {count} tokens, most on {key} ({percent})."
    ),
)
MANY = Sentences(
    looks=mark("Writing {word}, the heads, on average, give {percent} of their attention to {key}."),
    two=mark(
        "Writing {word}, the heads, on average, give {percent} of their attention to {key} and {percent2} to {key2}."
    ),
    spreads=mark(
        "Writing {word}, the heads, on average, spread their attention: 90% of it falls on {count} tokens, most on {key} ({percent})."
    ),
    itself=mark(
        "Writing {word}, the heads, on average, give {percent} of their attention to the position of {word} itself."
    ),
    only=mark("Writing {word}, the heads may attend to {key} only: {percent}."),
    shut=mark("Writing {word}, every key is masked for all heads."),
    unwritten=mark("{word} is given, not written: no row writes it."),
)


def whose(data: Any, head: tuple[int, int]) -> None:
    """Tell all pictures of these steps what they show; a head below 0 is the mean of all."""
    one = {"layer": head[0], "head": head[1]} if head[0] >= 0 else {}
    written = (
        getattr(data.last, "text", "")
        if data.model.spec.has_source
        else "".join(step.token for step in data.steps)
    )
    origin.tell(
        model=data.model.name, text=data.window.text, second_text=written, kind=data.kind or "", **one
    )


def show(
    data: Any, head: tuple[int, int], below: Callable[[], None], on_ask: Callable[[], None] | None
) -> None:
    """Draw where the model looked while it wrote the newest token (`below` is drawn under it); beside it the candidates and their way through the filters."""
    left, right = st.columns([2, 1] if state.presenting() else [3, 2], gap="large")
    with left:
        if data.kind is None:
            _unlooking(data)
        else:
            st.markdown(_("**Where {model} looked**", model=literal(data.model.name)))
            _alignment(data, head) if data.across else _flowing(data, head)
        place = st.container()
    with right:
        candidates(**bars(data.last), key=CANDIDATES, title=_("What could come next"), on_ask=on_ask)
    with place:  # last: measuring the heads takes a moment the first time
        below()


def rows(steps: Sequence[Step], kind: str, head: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the pattern of each step, one head's or the mean of all, as rows of one matrix: (weights, allowed), (step, key)."""
    widest = steps[-1].attention[kind].shape[-1]
    weights = np.zeros((len(steps), widest), dtype=np.float32)
    allowed = np.zeros(weights.shape, dtype=bool)
    for place, step in enumerate(steps):
        pattern, may = step.attention[kind], step.allowed[kind]
        row, may = (pattern.mean((0, 1)), may.any((0, 1))) if head[0] < 0 else (pattern[head], may[head])
        weights[place, : row.size], allowed[place, : row.size] = row, may
    return weights, allowed


def pieces(tokens: Sequence[str], marks: Collection[int] = ()) -> list[str]:
    """Return tokens as they are in running text: the space before a word is left out, a piece that continues one is tied; nothing is tied to the `marks`, START and END, which are positions.

    >>> pieces(["Once", " upon", " el", "ástico", ",", " ", "\\n"])
    ['Once', 'upon', 'el', '‿ástico', ',', ' ', '\\n']
    """
    shown: list[str] = []
    for place, token in enumerate(tokens):
        joins = (
            place > 0
            and token[:1].isalnum()
            and tokens[place - 1][-1:].isalnum()
            and not {place - 1, place} & {*marks}
        )
        bare = token[1:] if token[:1] == " " and token.strip() else token
        shown.append(f"‿{bare}" if joins else bare)
    return shown


def _flowing(data: Any, head: tuple[int, int]) -> None:
    steps, last = data.steps, data.last
    kind = data.kind
    given = len(last.keys[kind]) - len(steps) + 1
    end = len(last.keys[kind])
    marks = (*range(last.hidden), *([end] if last.ends else []))
    drawn = pieces([*last.keys[kind], last.token], marks)
    weights, allowed = rows(steps, kind, head)
    words_view(
        weights,
        [step.token for step in steps],
        drawn[:-1],
        key="decode.words",
        layout="one",
        allowed=allowed,
        targets=[(word, max(-1, place - given)) for place, word in enumerate(drawn)],
        selected=len(drawn) - 1,
        say=MANY if head[0] < 0 else ONE,
        special=(marks, ()),
        height=430 if len(drawn) > 70 else None,
    )


def _alignment(data: Any, head: tuple[int, int]) -> None:
    kind = data.kind
    weights, allowed = rows(data.steps, kind, head)
    heatmap(
        weights,
        pieces([step.token for step in data.steps], [len(data.steps) - 1] if data.last.ends else ()),
        pieces(data.last.keys[kind], prompt_of(data.model, data.window.text).source_special_positions),
        key="decode.alignment",
        allowed=allowed,
        selected=(len(weights) - 1, int(weights[-1].argmax())),
        axis=query_and_key("token", across=True),
        numbers=weights.shape[1] <= 14,
        height=430,
    )


def _unlooking(data: Any) -> None:
    """Draw the text of a translator without attention, and that there is nothing to look at."""
    st.markdown(_("**What {model} has written**", model=literal(data.model.name)))
    one_vector.show(data.window.text, data.last.text)
    st.text(
        _(
            "{model} reads the whole sentence into one vector before it writes: there is nothing to look back at.",
            model=data.model.name,
        )
    )


def bars(step: Step) -> dict[str, Any]:
    """Return the most probable tokens, the one taken always among them, and the rest for all others: for `candidates`."""
    listed = list(step.candidates[: IN_A_ROOM if state.presenting() else ROWS])
    if step.chosen_candidate not in listed:
        listed[-1] = step.chosen_candidate
    ids = {candidate.id for candidate in listed}
    cut = sum(cut.tokens for cut in step.cuts)
    before = max(0.0, 1 - sum(c.before for c in listed))
    after = max(0.0, 1 - sum(c.after for c in listed))
    return {
        "bars": [Bar(c.id, c.token, c.before, c.after, c.cut_by, candidate_way(c, step)) for c in listed],
        "taken_id": step.id,
        "step": step.index,
        "others": (step.n_kept + cut - len(ids), before, after),
        "lot": SampledNumber(step.draw.u, step.draw.low, step.draw.high) if step.draw else None,
        "filters": [title(each) for each in step.filters],
    }


def candidate_way(candidate: Candidate, step: Step) -> Way:
    """Return the way of a candidate as the bars show it."""
    found = way(candidate, step)
    return Way(
        found.line,
        tuple((stage.name, stage.put, stage.result) for stage in found.stages),
        (candidate.logit, *candidate.scores),
        found.rule,
    )


def moments(steps: Sequence[Step]) -> list[Moment]:
    """Return the steps as the timeline shows them."""
    return [
        Moment(
            s.token,
            float(np.exp(s.logprob)),
            s.surprise,
            s.entropy / np.log(2),
            _(REASONS.get(s.chosen_by, "")),
        )
        for s in steps
    ]


def draw_steps(data: Any, on_go: Callable[[], None]) -> None:
    """Draw all steps so far as text and as curves; touching one goes there."""
    given = "" if data.model.spec.has_source else data.window.text
    timeline(moments(data.steps), key=TIMELINE, prompt=given, on_go=on_go)


def sentence(data: Any) -> str:
    """Return one sentence of numbers about the newest token."""
    step = data.last
    before = (
        data.steps[-2].text if len(data.steps) > 1 else "" if data.model.spec.has_source else data.window.text
    )
    values = {
        "before": tail(before),
        "model": data.model.name,
        "token": _("the end of the text") if step.ends else _("“{token}”", token=bare(step.token)),
        "share": percent(step.chosen_candidate.before),
    }
    gives = (
        _("After “{before}”, {model} gives {token} {share}", **values)
        if before
        else _("At the start, {model} gives {token} {share}", **values)
    )
    effective, bits = float(np.exp(step.entropy)), step.entropy / np.log(2)
    said = [
        _("{gives}; the entropy is almost 0: {bits:.2f} bits.", gives=gives, bits=bits)
        if effective < 1.05
        else _(
            "{gives}; the perplexity of this step is about {perplexity} (entropy {bits:.2f} bits).",
            gives=gives,
            perplexity=whole_from(effective, 9.95, ".1f"),
            bits=bits,
        )
    ]
    if step.draw:
        lot = {"u": step.draw.u, "low": step.draw.low, "high": step.draw.high}
        said.append(
            _("The random number {u:.3f} fell into its part of the bar, {low:.3f} to {high:.3f}.", **lot)
            if abs(step.chosen_candidate.after - step.chosen_candidate.before) < 5e-4
            else _(
                "The random number {u:.3f} fell into its part of the bar, {low:.3f} to {high:.3f} ({share} after the filters).",
                share=percent(step.chosen_candidate.after),
                **lot,
            )
        )
    if step.pending:
        said.append(
            ngettext(
                "{n} byte of a character wait for the rest of it.",
                "{n} bytes of a character wait for the rest of it.",
                len(step.pending),
            )
        )
    if loop := find_loop([each.token for each in data.steps]):
        unit = " ".join("".join(loop.unit).split()) or _("a line break")
        said.append(_("It repeats “{unit}” {n} times in a row.", unit=unit, n=loop.times))
    ends = {
        "end": _("The model ended its text here."),
        "context": _("{model} can read no more tokens.", model=data.model.name),
        "limit": _("This page stops after {n} tokens.", n=len(data.steps)),
    }
    return " ".join(filter(None, (*said, ends.get(step.reason, ""), _erred(data))))


def _erred(data: Any) -> str:
    """Return that a ready-made sentence came out wrong, where the model wrote the most probable tokens, to the end."""
    greedy = all(step.id == step.candidates[0].id for step in data.steps)
    found = (
        check_translation(data.window.text, data.model.name, data.last.text)
        if greedy and data.last.reason == "end" and data.model.spec.has_source and is_shipped(data.model.name)
        else None
    )
    return _("A telling error: {summary}", summary=found.summary) if found and not found.passed else ""


def tail(text: str, letters: int = 28) -> str:
    """Return the end of a text, from the beginning of a word.

    >>> tail("One day a king came home", 12)
    '…came home'
    """
    line = " ".join(text.split())
    return line if len(line) <= letters else "…" + line[-letters:].partition(" ")[2]


def bare(token: str) -> str:
    """Return a token within a sentence: without the space before it, a line break by its sign."""
    return token.strip() if token.strip() else visible(token)
