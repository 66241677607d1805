"""The two steps on where it fails: in noise, and in sounds longer than those of the training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.data.speech.clips import HELD_OUT_VOICES
from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.vision.letters_over_frames import maths, own_voice
from viz.course.vision.letters_over_frames.params import SLUG, Params
from viz.labels import percent, shorten
from viz.widgets import engine_client, exhibit_parts, page_parts

ERROR = r"\text{letter error} = \frac{\text{insertions} + \text{deletions} + \text{replacements}}{\text{letters said}}"


def noise(params: Params, data: maths.Heard) -> Folds:
    """Draw the letter error by the amount of noise."""
    found = engine_client.submit((SLUG, "noise", params.seed), lambda: maths.in_noise(params.seed), 4_000)
    names = [f"noise {noise:g}" if noise else "no noise" for noise in maths.NOISES]
    asked = (
        f"{maths.EACH} sounds of {maths.SAID} words, in voices that were not in training ({', '.join(HELD_OUT_VOICES)}). Noise as loud as the speech "
        "(noise 1) is added. How many letters of 100 are wrong?"
    )
    why = f"In training the noise went up to {maths.LOUDEST:g}."
    return _bars("noise", found, names, maths.NOISES, asked, why, params)


def length(params: Params, data: maths.Heard) -> Folds:
    """Draw the letter error by the number of spoken words."""
    found = engine_client.submit((SLUG, "length", params.seed), lambda: maths.in_length(params.seed), 6_000)
    names = [f"{size} word{'s' * (size != 1)}" for size in maths.SIZES]
    asked = (
        f"No sound in training has more than {maths.LONGEST} words. Now there are {maths.SIZES[-1]}, without noise. "
        "How many letters of 100 are wrong?"
    )
    why = "The network was never trained on sounds of this length: the attention weights no longer follow the sound, and words are left out or repeated."
    return _bars("length", found, names, maths.SIZES, asked, why, params)


def _bars(
    group: str,
    errors: maths.Errors,
    names: Sequence[str],
    values: Sequence[float],
    question: str,
    reason: str,
    params: Params,
) -> Folds:
    worst = errors.rates[-1]
    known = exhibit_parts.predict_share(
        f"{SLUG}.{group}",
        question,
        min(worst, 1.0),
        f"{percent(worst)}; with {names[0]} {percent(errors.rates[0])}. {reason}",
        near=0.03,
    )
    last = len(names) - 1
    rates = pd.Series(errors.rates, list(names))
    labels = [
        f"{percent(rate)}  {shorten(said, exhibit_parts.by_mode(40, 28))}"
        for rate, said in zip(errors.rates, errors.outputs, strict=True)
    ]
    page_parts.show(
        marks.bars(
            rates if known else rates.where(rates.index != names[last]),
            labels,
            title="letter error (synthetic speech)",
            end=1.0,
            row=exhibit_parts.by_mode(48, 62),
        ),
        f"{SLUG}.{group}.rates",
        f"Share of letters wrong by {group}, and the output for one sound.",
    )
    page_parts.summary(
        f"The words spoken in the {'noisiest' if group == 'noise' else 'longest'} example are “{errors.transcripts[-1]}”."
    )
    return Folds(
        lambda: pd.DataFrame(
            {"letters wrong": errors.rates, "said": errors.transcripts, "written": errors.outputs},
            index=list(names),
        ),
        {group: np.array(values), "letter_error": np.array(errors.rates)},
        {"seed": params.seed},
        known,
        latex=(ERROR,),
        extra_folds=(("Your own voice", "voice", lambda: own_voice.show(f"{SLUG}.voice")),),
    )
