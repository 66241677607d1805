"""The steps on Vision Transformers: the row of patches, what the class token looks at, what is filled in where nothing is shown."""

from __future__ import annotations

import numpy as np
import pandas as pd

from viz.charts import marks
from viz.charts import patches as pictures
from viz.course.exhibit import Folds
from viz.course.vision.picture_as_words import charts, maths
from viz.course.vision.picture_as_words.maths import MEAN, ROLLOUT, SIDE, Reading
from viz.course.vision.picture_as_words.params import LAYERS, SLUG, Params
from viz.instruments import picture_view
from viz.instruments.kit import origin
from viz.labels import percent
from viz.languages import _, mark
from viz.shell import present_layout
from viz.widgets import engine_client, exhibit_parts, page_parts

CLASS = mark("class token")
LARGE, BIG = 224, 16
"""The picture and the patch of the paper."""


def words(params: Params, data: Reading) -> Folds:
    """Ask for the number of tokens of a picture, and draw its patches."""
    n, side = maths.n_tokens(SIDE, params.patch), SIDE // params.patch
    large = maths.n_tokens(LARGE, BIG)
    known = exhibit_parts.predict_number(
        f"{SLUG}.tokens",
        _(
            "A doodle of {side} × {side} pixels is cut into patches of {patch} × {patch}, and a class token is put in front. How many tokens does the encoder read?",
            side=SIDE,
            patch=params.patch,
        ),
        1,
        300,
        n,
        _(
            "{side} / {patch} = {across} patches in a row and as many rows: {across}² = {patches}, and the class token: {tokens}. For a photograph of {photo} × {photo} pixels in patches of {big} × {big}: ({photo} / {big})² + 1 = {large}.",
            side=SIDE,
            patch=params.patch,
            across=side,
            patches=n - 1,
            tokens=n,
            photo=LARGE,
            big=BIG,
            large=large,
        ),
        near=1,
    )
    parts = maths.cut(data.pixels, params.patch)
    page_parts.show(
        charts.tiles(parts, side, height=exhibit_parts.by_mode(260, 300)),
        f"{SLUG}.cut",
        _("The doodle cut into patches of {patch} by {patch} pixels, each in its place.", patch=params.patch),
    )
    if known:
        across = 17 if len(parts) > 60 else 10
        lines = -(-(len(parts) + 1) // across)
        page_parts.show(
            charts.tiles(
                parts,
                across,
                first=_("class"),
                numbered=len(parts) < 60,
                height=min(62.0 * lines, exhibit_parts.by_mode(330, 300)),
            ),
            f"{SLUG}.row",
            _(
                "The same {patches} patches one after the other, as a row of words, the class token in front.",
                patches=n - 1,
            ),
        )
    flat = [part.flatten() for part in parts]
    empty = sum(not part.any() for part in flat)
    page_parts.summary(
        _(
            "{patches} patches of {numbers} numbers each, read row by row after the class token; {empty} of them are entirely black. Attention compares all pairs: {tokens} × {tokens} = {scores:,} scores in each head.",
            patches=n - 1,
            numbers=params.patch**2,
            empty=empty,
            tokens=n,
            scores=n * n,
        )
        if known
        else _("Guess first, then the patches are shown in a row.")
    )
    return Folds(
        lambda: pd.DataFrame(
            np.array(flat),
            index=[str(i + 1) for i in range(len(flat))],
            columns=[str(i + 1) for i in range(len(flat[0]))],
        ),
        {"patches": np.array(parts)},
        {"text": params.own, "patch": params.patch},
        known,
        latex=(
            rf"N + 1 = \left(\frac{{{SIDE}}}{{{params.patch}}}\right)^2 + 1 = {n}, \qquad \left(\frac{{{LARGE}}}{{{BIG}}}\right)^2 + 1 = {large}",
            r"z_0 = [\,x_{\mathrm{class}};\; x_1 E;\; \dots;\; x_N E\,] + E_{\mathrm{pos}}, \quad "
            rf"x_i \in \mathbb{{R}}^{{{params.patch**2}}}",
        ),
    )


def looks(params: Params, data: Reading) -> Folds:
    """Draw the class token's attention; ask for its share on lines, and show the predicted class."""
    inked = maths.inked(data.pixels)
    n_inked, attended = int(inked.sum()), data.on_ink(LAYERS - 1)
    known = exhibit_parts.predict_share(
        f"{SLUG}.class",
        _(
            "The class is computed from the class token alone. {inked} of {patches} patches ({share}) contain a part of a line; the others are black. In the last layer, averaged over its heads: how much of its attention does the class token give to the patches with a line?",
            inked=n_inked,
            patches=len(inked),
            share=percent(n_inked / len(inked)),
        ),
        attended,
        _(
            "{share}. So it attends to the drawing, not to the background; the output is “{best}”, with a probability of {chance}.",
            share=percent(attended, 2),
            best=data.best,
            chance=percent(data.chances.max()),
        ),
        near=0.1,
    )
    weights = data.looks(params.layer, params.head)
    called = (
        _("layer {layer}, {what}", layer=params.layer, what=_(params.head))
        if params.head in (MEAN, ROLLOUT)
        else _("layer {layer}, head {head}", layer=params.layer, head=params.head)
    )
    side = SIDE // 4
    chosen = picture_view(
        data.pixels,
        weights,
        (side, side),
        special=[_(CLASS)],
        selected=0,
        ground="dark",
        subject=_("the rollout")
        if params.head == ROLLOUT
        else _("this head")
        if params.head != MEAN
        else _("the mean of the heads"),
        names=(_("query"), _("doodle")),
        title=called,
        hint=_("Touch a patch: it becomes the query."),
        height=exhibit_parts.by_mode(380, 330),
        key=f"{SLUG}.look",
    )
    if known:
        with present_layout.side_area():
            page_parts.show(
                marks.bars(pd.Series(data.chances, data.classes), percent, end=1.0, row=32),
                f"{SLUG}.classes",
                _(
                    "The probability of each class: {classes}",
                    classes=", ".join(
                        f"{name} {percent(chance)}"
                        for name, chance in zip(data.classes, data.chances, strict=True)
                    ),
                ),
            )
    row = weights[0]
    on = float(row[1:][inked].sum())
    page_parts.summary(
        _(
            "{called}: the class token gives {own} to itself, {on} to the {inked} patches with a line in them and {off} to the {black} black ones.",
            called=called,
            own=percent(row[0]),
            on=percent(on),
            inked=int(inked.sum()),
            off=percent(max(0.0, 1 - on - row[0])),
            black=int((~inked).sum()),
        )
    )
    names = [CLASS, *(f"{r + 1},{c + 1}" for r in range(side) for c in range(side))]
    asked = chosen.query or 0
    top = int(weights[asked].argmax())
    return Folds(
        lambda: pd.DataFrame(weights.round(4), index=names, columns=names),
        {"weights": data.weights, "rollout": data.rolled, "chances": data.chances, "pixels": data.pixels},
        {"text": params.own, "layer": params.layer},
        known,
        {"attention.softmax": {"a_ij": f"{weights[asked, top]:.3f}"}} if params.head != ROLLOUT else {},
        (
            rf"p(\text{{{data.best}}}) = \mathrm{{softmax}}(W\, \mathrm{{LN}}(z_L^0) + b)_{{\text{{{data.best}}}}} = {data.chances.max():.4f}",
        ),
    )


def fills(params: Params, data: Reading) -> Folds:
    """Fill in a picture of which a quarter is shown."""
    share = params.share / 100
    found = engine_client.submit(
        (SLUG, "filled", params.own, params.share, params.draw),
        lambda: maths.filled(params.own, share, params.draw),
        500,
    )
    origin.tell(model=maths.FILLER, text=params.own)
    n = maths.n_tokens(SIDE, 4) - 1
    left = found.error / found.of_mean if found.of_mean else 1.0
    known = exhibit_parts.predict_share(
        f"{SLUG}.fill",
        _(
            "{hidden} of {patches} patches are hidden; the encoder reads the other {visible}. If every hidden patch is filled with the mean of the visible ones, the squared error counts as 100%. How large is it when the decoder fills them in?",
            hidden=len(found.hidden),
            patches=n,
            visible=n - len(found.hidden),
        ),
        min(left, 1.0),
        _(
            "{share}: {error:.4f} per pixel in place of {of_mean:.4f} (black is 0, white 1).",
            share=percent(left),
            error=found.error,
            of_mean=found.of_mean,
        ),
        near=0.05,
    )
    images = [
        (_("what the encoder reads"), charts.coloured(found.visible)),
        (_("filled in"), charts.coloured(found.filled) if known else None),
        (_("the drawing"), charts.coloured(data.pixels / 255) if known else None),
    ]
    page_parts.show(
        pictures.reads(images, height=exhibit_parts.by_mode(260, 300)),
        f"{SLUG}.filled",
        _(
            "The doodle with {hidden} of {patches} patches hidden, the decoder's picture, and the whole doodle.",
            hidden=len(found.hidden),
            patches=n,
        ),
    )
    page_parts.summary(
        _(
            "Squared error per pixel at the {hidden} hidden places: {error:.4f} by the decoder, {of_mean:.4f} by the mean of the {visible} visible patches.",
            hidden=len(found.hidden),
            error=found.error,
            of_mean=found.of_mean,
            visible=n - len(found.hidden),
        )
        if known
        else _("Guess first, then the decoder's picture is shown.")
    )
    return Folds(
        lambda: pd.DataFrame(
            {"squared error": [found.error, found.of_mean]}, index=["decoder", "mean of the visible patches"]
        ),
        lambda: {
            "shown": found.visible,
            "filled": found.filled,
            "drawing": data.pixels,
            "hidden": np.array(found.hidden),
        },
        {"text": params.own, "share": share, "draw": params.draw},
        known,
        latex=(
            rf"\frac{{1}}{{|H|}} \sum_{{i \in H}} (\hat{{x}}_i - x_i)^2 = {found.error:.4f}, \qquad |H| = {len(found.hidden)} \cdot 16",
        ),
    )
