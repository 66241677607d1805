"""The folds of Decode: the softmax with its numbers, what the picture shows, the documents, tables, data and code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.decoding import Beam, Step
from viz.course.kit import erratum_card as errata
from viz.labels import distinct, percent, visible
from viz.languages import ENGLISH, _, mark, ngettext, using
from viz.shell.pages import Page
from viz.widgets import page_parts
from viz.widgets.export import Labelled
from viz.workspace.decode import pictures, player
from viz.workspace.decode.sampling_arithmetic import title, way

FILTERS = {
    "top_k": "top-k",
    "top_p": "top-p",
    "min_p": "min-p",
    "not_allowed": mark("The model's configuration"),
}


def show(
    info: Page,
    params: Any,
    data: Any,
    head: tuple[int, int],
    beam: Callable[[], None] | None = None,
    node: int | None = None,
) -> None:
    """Draw all folds, closed, in the order of every page. Of a beam `data` has the steps of the text that ends in `node` (None: the best)."""
    _equation(params, data.last)
    _looking(data)
    page_parts.sources_fold(info, lambda: errata.show("E54"))
    _tables(data, beam)
    page_parts.export_fold(lambda: labelled(data, head), code(params, data, node), key="decode")


def _equation(params: Any, step: Step) -> None:
    with page_parts.fold(page_parts.EQUATION, "decode.equation") as opened:
        if not opened.open:
            return
        taken, temperature = step.chosen_candidate, params.temperature
        st.markdown(
            _(
                "Each token *j* of the vocabulary has a logit *z*; the softmax turns the logits into probabilities:"
            )
        )
        page_parts.equation(
            r"P(y_t \mid y_{<t}) = \frac{e^{z}}{\sum_j e^{z_j}}"
            rf" = \frac{{e^{{{taken.logit:.2f}}}}}{{e^{{{step.log_total:.2f}}}}} = e^{{{step.logprob:.3f}}} = {taken.before:.4f}"
        )
        if step.draw:
            st.markdown(
                _(
                    "The logits are first divided by the temperature, {temperature:g}; tokens that the filters cut have probability 0:",
                    temperature=temperature,
                )
            )
            page_parts.equation(
                rf"P'(y_t) \propto e^{{z / {temperature:g}}}, \qquad P'(y_t) = {taken.after:.4f}"
            )
        for cut in step.cuts:
            st.text(
                ngettext(
                    "{filter} cut {n:,} token, which had {share} of the model's probability.",
                    "{filter} cut {n:,} tokens, which had {share} of the model's probability.",
                    cut.tokens,
                    filter=_(FILTERS.get(cut.by, cut.by)),
                    share=percent(cut.probability),
                )
            )
        st.markdown(_("The entropy of this step, and the surprisal of the token that was taken:"))
        page_parts.equation(
            rf"H = -\sum_j P_j \log_2 P_j = {step.entropy / np.log(2):.3f}\ \text{{bits}}, \qquad"
            rf" -\log_2 P(y_t) = {step.surprise:.3f}\ \text{{bits}}"
        )


def _looking(data: Any) -> None:
    with page_parts.fold(page_parts.LOOKING, "decode.looking") as opened:
        if not opened.open:
            return
        recurrent = not any(kind.layered for kind in data.model.spec.kinds)
        if data.kind is None:
            st.markdown(
                _(
                    "A translator without attention: one network reads the sentence word by word, and its last state, one vector, is all that the other network gets of it. What that network writes next depends on this vector and on its own words, so there is no attention to show."
                )
            )
        elif data.across:
            st.markdown(
                _(
                    "Each row of the matrix is one token of the output, from top to bottom; each column is a token of the source. A row holds the attention weights of the query that *predicted* the token, so it sums to 1."
                )
            )
            if recurrent:
                st.markdown(
                    _(
                        "A recurrent translator has one such pattern, not several heads: its alignment. With local attention, hatched cells lie outside its window, and a Gaussian around the predicted position lowers the weights farther away, so a row may sum to less than 1."
                    )
                )
        else:
            st.markdown(
                _(
                    "The framed token is the newest. The others are shaded by the attention weight that they had for the query that *predicted* it: this query is at the token before, and attends to everything up to there. Touch another token of the output to see its own row. Much weight on the very first token is often an attention sink and carries no meaning. A tie ‿ marks a token that continues a word."
                )
            )
        st.markdown(
            _(
                "The bars are the ten most probable tokens and the sum of all others. The dark bar is the token that was chosen. With sampling, a tick marks the probability that the model gives, the solid bar the probability after temperature and filters, and hatching what these cut. The last row shows the sampling: all remaining tokens side by side, and the random number that points at one of them. The same seed gives the same random numbers again."
            )
        )
        last = data.last
        cost = {"ms": 1000 * last.seconds, "size": last.cache_bytes // 1024}
        st.text(
            _(
                "This step took {ms:.1f} ms when it was computed. The states of {size:,} KB are kept, so that the model has to read only the newest token.",
                **cost,
            )
            if recurrent
            else _(
                "This step took {ms:.1f} ms when it was computed. The keys and values of {size:,} KB are kept, so that the model has to read only the newest token.",
                **cost,
            )
        )


def _tables(data: Any, beam: Callable[[], None] | None) -> None:
    with page_parts.fold(page_parts.TABLE, "decode.table") as opened:
        if not opened.open:
            return
        st.markdown(_("The candidates of this step"))
        page_parts.dataframe(candidate_table(data.last), hide_index=True, key="decode.table.candidates")
        if beam:
            beam()
        st.markdown(_("All steps so far"))
        page_parts.dataframe(step_table(data.steps), hide_index=True, key="decode.table.steps")


def candidate_table(step: Step) -> pd.DataFrame:
    """Return the listed candidates, most probable first; their logit after each filter, and the rule that cut them."""
    named = [title(each) for each in step.filters]
    return pd.DataFrame(
        [
            (
                visible(c.token),
                c.id,
                c.logit,
                *c.scores,
                c.before,
                c.after,
                way(c, step).rule,
                c.id == step.id,
            )
            for c in step.candidates
        ],
        columns=[
            _("token"),
            "id",
            "logit",
            *named,
            _("probability"),
            _("after filters"),
            _("cut by"),
            _("taken"),
        ],
    )


def step_table(steps: tuple[Step, ...]) -> pd.DataFrame:
    """Return one row for each step."""
    return pd.DataFrame(
        [
            (
                s.index + 1,
                visible(s.token),
                s.id,
                float(np.exp(s.logprob)),
                s.surprise,
                s.entropy / np.log(2),
                s.draw.u if s.draw else None,
                1000 * s.seconds,
                s.cache_bytes / 1024,
            )
            for s in steps
        ],
        columns=[
            _("step"),
            _("token"),
            "id",
            _("probability"),
            _("surprisal, bits"),
            _("entropy, bits"),
            _("random number"),
            "ms",
            _("cache, KB"),
        ],
    )


def labelled(data: Any, head: tuple[int, int]) -> dict[str, np.ndarray | Labelled]:
    """Return `arrays` with the tokens of their steps, candidates and keys as names of the axes."""
    last, found = data.last, arrays(data, head)
    steps: dict[str, list[str] | None] = {
        "step": [f"{step.index} {visible(step.token)}" for step in data.steps]
    }
    best: dict[str, list[str] | None] = {"candidate": distinct(c.token for c in last.candidates)}
    with using(ENGLISH.code):  # names in files do not depend on the language
        filters = [title(each) for each in last.filters]
    axes: dict[str, dict[str, list[str] | None]] = {
        **dict.fromkeys(("ids", "probability", "entropy_nats"), steps),
        **{name: best for name in found if name.startswith("candidate_")},
        "candidate_scores": {**best, "filter": filters},
        **{f"attention_{kind}": {**steps, "key": distinct(last.keys[kind])} for kind in last.attention},
    }
    return {name: Labelled(values, axes[name]) if name in axes else values for name, values in found.items()}


def arrays(data: Any, head: tuple[int, int]) -> dict[str, np.ndarray]:
    """Return the values of the page as arrays: attention rows (step, key), ids, probabilities, the candidates of the last step."""
    steps, last = data.steps, data.last
    found = {
        "ids": np.array([step.id for step in steps]),
        "probability": np.exp([step.logprob for step in steps]),
        "entropy_nats": np.array([step.entropy for step in steps]),
        "candidate_ids": np.array([c.id for c in last.candidates]),
        "candidate_logits": np.array([c.logit for c in last.candidates]),
        "candidate_scores": np.array([c.scores for c in last.candidates]),
        "candidate_before": np.array([c.before for c in last.candidates]),
        "candidate_after": np.array([c.after for c in last.candidates]),
    }
    found["tokens"] = np.array([step.token for step in steps])
    found["candidates"] = np.array([c.token for c in last.candidates])
    for kind in last.attention:
        found[f"keys_{kind}"] = np.array(last.keys[kind])
        found[f"attention_{kind}"] = pictures.rows(steps, kind, head)[0]
    return found


def code(params: Any, data: Any, node: int | None = None) -> str:
    """Return the lines that make the same steps again; of a beam those of the text that ends in `node` (None: the best)."""
    strategy, forced = params.strategy, f", force={list(params.force)!r}" if params.force else ""
    if isinstance(strategy, Beam):
        return (
            "from itertools import islice\n\nimport core\nfrom core.decoding import Beam, decode, hypothesis_steps, prompt_of\n\n"
            f"model, text = core.open_model({params.model!r}), {data.window.text!r}\n"
            f"steps = list(islice(decode(model, text, {strategy!r}, max_new_tokens={player.MOST}{forced}), {params.n}))\n"
            f"for step in hypothesis_steps(steps, {'steps[-1].tree.best' if node is None else node}, prompt_of(model, text)):\n"
            "    print(step.token, step.chosen_candidate.before, step.text)"
        )
    return (
        "import core\nfrom core.decoding import Greedy, Sample, decode\n\n"
        f"model = core.open_model({params.model!r})\n"
        f"for step in decode(model, {data.window.text!r}, {strategy!r}, max_new_tokens={len(data.steps)}{forced}):\n"
        "    print(step.token, step.chosen_candidate.before, step.text)"
    )
