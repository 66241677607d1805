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
from viz.number_text import whole_from
from viz.shell import state
from viz.widgets.input_hints import is_shipped
from viz.workspace.decode.sampling_arithmetic import title, way
from viz.workspace.shared import one_vector

ROWS, IN_A_ROOM = 10, 5
"""Candidates that are listed; in present mode fewer, so that the page fits its window."""
CANDIDATES, TIMELINE = "decode.candidates", "decode.timeline"
REASONS = {"forced": "put in by you", "draw": "drawn", "rule": "always written first"}
ONE = replace(WRITING, spreads=WRITING.spreads.replace("words", "tokens"))
MANY = Sentences(
    **{
        name: text.replace("this head gives", "the heads, on average, give")
        .replace("this head spreads", "the heads, on average, spread")
        .replace("its attention", "their attention")
        .replace("for this head", "for all heads")
        .replace("this head may", "the heads may")
        .replace("no row of this head", "no row")
        for name, text in vars(ONE).items()
    }
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
            st.markdown(f"**Where {literal(data.model.name)} looked**")
            _alignment(data, head) if data.across else _flowing(data, head)
        place = st.container()
    with right:
        candidates(**bars(data.last), key=CANDIDATES, title="What could come next", on_ask=on_ask)
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
    st.markdown(f"**What {literal(data.model.name)} has written**")
    one_vector.show(data.window.text, data.last.text)
    st.text(
        f"{data.model.name} reads the whole sentence into one vector before it writes: there is nothing to look back at."
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
            s.token, float(np.exp(s.logprob)), s.surprise, s.entropy / np.log(2), REASONS.get(s.chosen_by, "")
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
    where = f"After “{tail(before)}”" if before else "At the start"
    token = "the end of the text" if step.ends else f"“{bare(step.token)}”"
    effective = float(np.exp(step.entropy))
    about = whole_from(effective, 9.95, ".1f")
    hesitates = f"the perplexity of this step is about {about} (entropy {step.entropy / np.log(2):.2f} bits)"
    if effective < 1.05:
        hesitates = f"the entropy is almost 0: {step.entropy / np.log(2):.2f} bits"
    said = f"{where}, {data.model.name} gives {token} {percent(step.chosen_candidate.before)}; {hesitates}."
    if step.draw:
        took = f"The random number {step.draw.u:.3f} fell into its part of the bar, {step.draw.low:.3f} to {step.draw.high:.3f}"
        changed = (
            ""
            if abs(step.chosen_candidate.after - step.chosen_candidate.before) < 5e-4
            else f" ({percent(step.chosen_candidate.after)} after the filters)"
        )
        said += f" {took}{changed}."
    if step.pending:
        said += f" {len(step.pending)} byte{'s' * (len(step.pending) > 1)} of a character wait for the rest of it."
    ends = {
        "end": "The model ended its text here.",
        "context": f"{data.model.name} can read no more tokens.",
        "limit": f"This page stops after {len(data.steps)} tokens.",
    }
    loop = find_loop([each.token for each in data.steps])
    return " ".join(
        filter(None, (said, f"It {loop.phrase}." if loop else "", ends.get(step.reason, ""), _erred(data)))
    )


def _erred(data: Any) -> str:
    """Return that a ready-made sentence came out wrong, where the model wrote the most probable tokens, to the end."""
    greedy = all(step.id == step.candidates[0].id for step in data.steps)
    found = (
        check_translation(data.window.text, data.model.name, data.last.text)
        if greedy and data.last.reason == "end" and data.model.spec.has_source and is_shipped(data.model.name)
        else None
    )
    return f"A telling error: {found.summary}" if found and not found.passed else ""


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
