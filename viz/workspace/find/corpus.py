"""One head over a corpus: its scores beside their controls, its strongest rows, a passage of each tenth, and the tokens it attends from and to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.heads import headvis
from core.analysis.heads.corpus import (
    DECILES,
    MEAN,
    MIN_KEYS,
    QUANTILES,
    SHUFFLED,
    STRONGEST_WEIGHT,
    UNTRAINED,
    CorpusRow,
    HeadCorpus,
    HeadWrites,
    TokenWeight,
    WordScore,
)
from core.analysis.heads.corpus_file import ModelCorpus
from core.analysis.heads.corpus_writes import AMONG
from core.analysis.heads.habits import HeadHabits
from viz.instruments.picture import patches
from viz.labels import head_name, literal, percent, visible
from viz.languages import _, mark, write_number
from viz.number_text import signed
from viz.shell import state
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.workspace.find import card, own_lines, pool, second_head, tiles
from viz.workspace.find.pool import Head
from viz.workspace.find.scatter import MEASURES
from viz.workspace.find.second_head import SecondHead
from viz.workspace.find.tiles import ViewContent
from viz.workspace.shared import model_run
from viz.workspace.shared.attention_kinds import KINDS
from viz.workspace.shared.head_ref import HeadRef

EQUATION = r"\text{score}(\text{passage}) = \max_{i,\; j \notin \{i,\, 1\}} a_{ij}"
SHADE = "rgba(91, 106, 222, {:.2f})"
"""The ground of a token, more opaque the larger its weight; readable under the type of both themes."""
FAINT, DEEP = 0.04, 0.7
"""The weight from which a token is shaded, and the opacity of weight 1."""
IN_A_ROOM, DRAWINGS = 4, 4
NONE = mark(
    "{model} has no corpus yet: passages ship with some of the models only. Give lines of your own below, or choose another model."
)
WRITES = mark(
    "What the head adds directly to the score (logit) of a word at the row of the query by attending to the key, weight × value × W_O × the output layer, "
    "with the scales of the norms held: the mean of its {n} strongest rows. What later layers make of it is not in it."
)
CODE = """for row in heads.strongest[{layer}][{head}]:
    print(row.weight, row.query_token, row.tokens)
print(heads.measures["strongest"][{layer}, {head}], heads.controls["shuffled"]["strongest"][{layer}, {head}])"""


def show(measured: Mapping[str, HeadHabits], head: Head, selection: Selection) -> ViewContent:
    """Draw the head in view over the corpus of its model."""
    corpus, problem = pool.corpus(head.model)
    heads = corpus.kinds.get(head.place.kind) if corpus else None
    _choice(measured, head, selection)
    model = model_run.open_model(head.model)
    own_lines.show_progress(model)
    if corpus is None or heads is None:
        st.info(problem or _(NONE, model=literal(head.model)))
        own_lines.show_form(model)
        return ViewContent(_("There are no passages of this head."), EQUATION, pd.DataFrame, dict, "")
    layer, number = head.place.layer, head.place.head
    sees = patches.reads_patches(model)
    with st.container(border=True, key="find.corpus"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(
                f"## {head.place} :gray[{literal(head.model)}]: {literal(pool.habit(head))}", width="content"
            )
            tiles.look_link(
                head, _("Test it on your drawing") if sees else _("Test it on your text"), selection
            )
        strongest, writes = heads.strongest[layer][number], pool.writes(corpus, head)
        if state.presenting():
            left, right = st.columns([3, 2], gap="large")
            with left:
                _strongest(head, strongest[:IN_A_ROOM], writes, sees=sees)
        else:
            second = second_head.choose(head, corpus, heads)
            scores = statistics(second.first if second else heads, layer, number)
            if second is not None:
                scores = second_head.with_difference(scores, head, second)
            left, right = st.columns([3, 2], gap="large")
            with left:
                page_parts.dataframe(scores, hide_index=True, height="content", key="find.corpus.scores")
                if second is not None and second.note:
                    st.caption(literal(second.note))
                if second is None or second.first is heads:
                    st.caption(_read(corpus, heads, sees=sees))
            if second is None:
                _strongest(head, strongest, writes, sees=sees)
            else:
                _both(head, second, sees=sees)
                second_head.show_patterns(head, second.head, selection)
            st.markdown(_("#### One passage of each tenth"))
            st.caption(
                _(
                    "All passages in the order of their largest weight, and the middle one of each tenth: so no example is picked by hand."
                )
            )
            st.markdown(rows_table(heads.deciles[layer][number], tenths=True))
        with right:
            most = IN_A_ROOM if state.presenting() else None
            _tokens(
                _("Patches that give most") if sees else _("Tokens that give most"),
                heads.queries[layer][number][:most],
            )
            _tokens(
                _("Patches that get most") if sees else _("Tokens that get most"),
                heads.keys[layer][number][:most],
            )
            if writes is not None:
                _words(writes, len(strongest), most)
    own_lines.show_form(model)
    return ViewContent(
        sentence(heads, head),
        EQUATION,
        lambda: table(heads, layer, number),
        lambda: {
            **{f"{name}_statistics": values[layer, number] for name, values in heads.measures.items()},
            **{
                f"{name}_{control}": values[layer, number]
                for control, tables in heads.controls.items()
                for name, values in tables.items()
            },
        },
        pool.corpus_code(head.model, head.place.kind, corpus)
        + (CODE if SHUFFLED in heads.controls else CODE.replace(SHUFFLED, UNTRAINED)).format(
            layer=layer, head=number
        ),
        _archives(corpus, heads, head),
    )


def _archives(corpus: ModelCorpus, heads: HeadCorpus, head: Head) -> dict[str, Callable[[], bytes]]:
    """Return all heads of a kind as the files of HeadVis, where one text attends to itself."""
    kind = head.place.kind
    if not model_run.open_model(head.model).spec.kind(kind).one_text:
        return {}
    dataset = "; ".join(source.name for source in corpus.sources)
    return {_("All heads for HeadVis, ZIP"): lambda: headvis.headvis_zip(heads, head.model, dataset, kind)}


def _choice(measured: Mapping[str, HeadHabits], head: Head, selection: Selection) -> None:
    """Offer the heads of the model."""
    kind = head.place.kind
    shape = measured[kind].shape
    places = [HeadRef(kind, layer, number) for layer, number in np.ndindex(*shape)]
    key = f"find.corpus.head:{head.model}:{kind}"

    def choose() -> None:
        if (place := st.session_state.get(key)) is not None:
            pool.choose(Head(head.model, place), selection)

    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="find.corpus.choices"):
        if len(measured) > 1:
            controls.segmented(
                _("Which attention"), list(measured), "kind", kind, lambda kind: _(KINDS[kind])
            )
        state.seed_widget(key, head.place)
        st.selectbox(
            _("Head"),
            places,
            key=key,
            format_func=lambda place: f"{place}, {pool.habit_label(measured[kind], place.layer, place.head)}",
            on_change=choose,
            width=420,
        )


def _strongest(
    head: Head, rows: Sequence[CorpusRow], writes: HeadWrites | None = None, *, sees: bool = False
) -> None:
    """Draw the strongest rows of the head."""
    st.markdown(_("#### Strongest rows"))
    if sees:
        _drawings(head, rows)
    else:
        st.markdown(rows_table(rows, writes))


def _both(head: Head, second: SecondHead, *, sees: bool) -> None:
    """Draw the strongest rows of two heads beside each other; of pictures one below the other."""
    own = second.first.strongest[head.place.layer][head.place.head]
    st.markdown(_("#### Strongest rows"))
    sides = (head, own), (second.head, second.strongest)
    columns = [st.container(), st.container()] if sees else st.columns(2, gap="medium")
    for column, (one, rows) in zip(columns, sides, strict=True):
        with column:
            st.markdown(f"**{one.place}** :gray[{literal(one.model)}]")
            if sees and patches.reads_patches(model_run.open_model(one.model)):
                _drawings(one, rows)
            else:
                st.markdown(rows_table(rows))


def statistics(heads: HeadCorpus, layer: int, head: int) -> pd.DataFrame:
    """Return the mean of each measure of a head beside those over shuffled words and of an untrained copy, and how it spreads over the passages."""
    low, high = 1, len(QUANTILES)
    rows = []
    for name, values in heads.measures.items():
        own = values[layer, head]
        controls_ = {
            control: tables[name][layer, head, MEAN] if name in tables else np.nan
            for control, tables in heads.controls.items()
        }
        rows.append(
            {
                _("measure"): _(MEASURES[name]),
                _("mean"): own[MEAN],
                _("shuffled"): controls_.get(SHUFFLED, np.nan),
                _("untrained"): controls_.get(UNTRAINED, np.nan),
                _("5% to 95%"): _("{low:.2f} to {high:.2f}", low=own[low], high=own[high]),
            }
        )
    order = sorted(rows, key=lambda row: row[_("measure")] != _(MEASURES[STRONGEST_WEIGHT]))
    return pd.DataFrame(order).round(3).dropna(axis="columns", how="all")


def _read(corpus: ModelCorpus, heads: HeadCorpus, *, sees: bool) -> str:
    """Return what was read, and how a passage is scored, in words."""
    read = "; ".join(
        write_number(f"{source.n:,}") + f" {source.name}" + (f" ({source.licence})" if source.licence else "")
        for source in corpus.sources
    )
    values = {"n": heads.n, "sources": read, "keys": MIN_KEYS}
    return literal(
        _(
            "On {n:,} passages: {sources}. The strongest weight of a passage is the largest that goes to a patch other than itself and the class token, from a query with {keys} such keys or more. Untrained: the same network with random weights.",
            **values,
        )
        if sees
        else _(
            "On {n:,} passages: {sources}. The strongest weight of a passage is the largest that goes to a token other than itself and the first one, from a query with {keys} such keys or more. Shuffled: the same words in random order. Untrained: the same network with random weights.",
            **values,
        )
    )


def _tokens(title: str, tokens: Sequence[TokenWeight]) -> None:
    """Draw the tokens with the largest mean weights."""
    if not tokens:
        return
    lines = [
        f"{_chip(one.token, one.weight)}\u00a0{one.weight:.2f}\u00a0:gray[:small[{one.count}×]]"
        for one in tokens
    ]
    st.markdown(
        f"**{title}**  \n" + " · ".join(lines),
        help=_(
            "The mean, over all occurrences of a token, of the largest weight that it gives or gets, and how often it occurs."
        ),
    )


def _words(writes: HeadWrites, n: int, most: int | None) -> None:
    """Draw the words that a head raises and lowers most on its n strongest rows, at most so many of each."""
    for title, words in (
        (_("Words that it raises most, in logits"), writes.raised),
        (_("Words that it lowers most, in logits"), writes.lowered),
    ):
        lines = [f"{_word(one.word)}\u00a0:gray[:small[{signed(one.added, '+.2f')}]]" for one in words[:most]]
        st.markdown(f"**{title}**  \n" + " · ".join(lines), help=_(WRITES, n=n))
    if writes.copies is not None:
        st.caption(
            _(
                "In {copies} of {n} rows the token attended to is among the {among} words raised most.",
                copies=writes.copies,
                n=n,
                among=AMONG,
            )
        )


def rows_table(rows: Sequence[CorpusRow], writes: HeadWrites | None = None, *, tenths: bool = False) -> str:
    """Return rows of attention as a Markdown table: the weight, the query, the key, the tokens around them shaded by their weights, and the words that each raises most."""
    first, last = f"{_('tenth')} | " if tenths else "", f" {_('raises')} |" if writes else ""
    lines = [
        f"| {first}{_('weight')} | {_('from → to')} | {_('tokens')} |{last}",
        "|" + ":--|" * (3 + tenths + bool(writes)),
    ]
    for number, row in enumerate(rows):
        place = f"{_tenth(number, len(rows))} | " if tenths else ""
        key = row.tokens[row.positions.index(row.key)]
        lines.append(
            f"| {place}{percent(row.weight)} | **{_word(row.query_token)}** → {_word(key)} | {row_tokens(row)} |"
            + (f" {_raised(writes.rows[number])} |" if writes else "")
        )
    return "\n".join(lines)


def _raised(words: Sequence[WordScore]) -> str:
    words = words[:1] if state.presenting() else words
    return ", ".join(f"{_word(one.word)}\u00a0:gray[:small[{signed(one.added, '+.1f')}]]" for one in words)


def _tenth(number: int, n: int) -> str:
    if n < DECILES:
        return str(number + 1)
    return _("highest") if not number else _("lowest") if number == n - 1 else str(number + 1)


def row_tokens(row: CorpusRow) -> str:
    """Return the tokens of a row in Markdown, each shaded by its weight; the query is bold, and what is left out is "…"."""
    parts, before = [], -1
    for place, token, weight in zip(row.positions, row.tokens, row.weights, strict=True):
        parts += ["…"] * (place != before + 1)
        is_query = not row.context and place == row.query
        chip = _chip(token, weight)
        parts.append(f"**{chip}**" if is_query else chip)
        before = place
    words = " ".join(parts)
    if row.context:
        written = " ".join(_word(token) for token in row.context[:-1])
        return f":gray[{written}] **{_word(row.context[-1])}** ← {words}"
    return words


def _chip(token: str, weight: float) -> str:
    if weight < FAINT:
        return _word(token)
    return f':color[{_word(token)}]{{background="{SHADE.format(DEEP * weight)}"}}'


def _word(token: str) -> str:
    return literal(visible(token.strip(" ")) or "␣")


def _drawings(head: Head, rows: Sequence[CorpusRow]) -> None:
    """Draw the drawings of the strongest rows, the patch that attends chosen."""
    examples = pool.own_items(head.model)
    for column, (number, row) in zip(
        st.columns(DRAWINGS, gap="medium"), list(enumerate(rows))[:DRAWINGS], strict=False
    ):
        with column:
            st.markdown(_("**{share}** from {word}", share=percent(row.weight), word=_word(row.query_token)))
            card.draw_drawing(
                examples[row.passage].text,
                head,
                row.query,
                f"find.corpus.drawing.{head.place} of {head.model}.{number}",
            )


def sentence(heads: HeadCorpus, head: Head) -> str:
    """Return the strongest weight of a head in a sentence, with its controls and its effect."""
    place = head.place.layer, head.place.head
    own = heads.measures[STRONGEST_WEIGHT][place][MEAN]
    beside = [
        _(words, weight=heads.controls[name][STRONGEST_WEIGHT][place][MEAN])
        for name, words in (
            (SHUFFLED, mark("over shuffled words {weight:.2f}")),
            (UNTRAINED, mark("in an untrained copy {weight:.2f}")),
        )
        if STRONGEST_WEIGHT in heads.controls.get(name, {})
    ]
    values = {"head": head_name(*place), "n": heads.n, "weight": own}
    said = (
        _(
            "{head} on {n:,} passages: the strongest weight of a passage is {weight:.2f} on average ({controls}).",
            controls=", ".join(beside),
            **values,
        )
        if beside
        else _(
            "{head} on {n:,} passages: the strongest weight of a passage is {weight:.2f} on average.",
            **values,
        )
    )
    if heads.effect is None:
        return said
    effect = _(
        "Without this head the loss changes by {change} nats per token.",
        change=signed(float(heads.effect[place]), ".3f"),
    )
    return f"{said} {effect}"


def table(heads: HeadCorpus, layer: int, head: int) -> pd.DataFrame:
    """Return the rows that are drawn, one a line."""
    groups = (("strongest", heads.strongest), ("tenth", heads.deciles))
    return pd.DataFrame(
        [
            {
                _("group"): _("strongest") if name == "strongest" else _("tenth {n}", n=rank + 1),
                _("passage"): row.passage,
                _("weight"): row.weight,
                _("query"): row.query_token,
                _("key"): row.tokens[row.positions.index(row.key)],
                _("distance"): row.query - row.key,
                _("tokens"): " ".join(token.strip() for token in row.tokens),
            }
            for name, rows in groups
            for rank, row in enumerate(rows[layer][head])
        ]
    )
