"""The target language that a translator's folder names is written first, as the transformers library does."""

from __future__ import annotations

import json

import pytest
import torch
import transformers as hf
from deep import deep
from kinds import CASES
from parity import variant
from test_kinds_parity import SHORT, saved

from core.checkpoints import open_model
from core.checkpoints.load import GENERATION
from core.checkpoints.wrapped import wrap
from core.decoding import Beam, Sample, decode
from core.tools import export

LANGUAGE, WRITES = 65, 6
"""The number of an ordinary token that a random model would not choose."""


@pytest.mark.parametrize("name", deep(["m2m_100", "mbart"], {"m2m_100"}))
def test_the_target_language_is_written_first(name, tmp_path):
    model = saved(CASES[name], tmp_path / "model")
    model.generation_config.forced_bos_token_id = LANGUAGE
    model.generation_config.save_pretrained(tmp_path / "model")
    opened = open_model(tmp_path / "model")

    def library(**options):
        with torch.no_grad():
            ids = torch.tensor([opened.run(SHORT, target="").source.ids])
            return model.generate(ids, max_new_tokens=WRITES, eos_token_id=1, do_sample=False, **options)[
                0, 1:
            ]

    greedy = library(num_beams=1).tolist()
    steps = list(decode(opened, SHORT, max_new_tokens=WRITES))
    assert [step.id for step in steps] == greedy[: len(steps)] and greedy[0] == LANGUAGE
    assert [step.chosen_by for step in steps] == ["rule", *["argmax"] * (len(steps) - 1)]
    run = opened.run(SHORT)
    assert run.side.ids[: run.side.n_real][1:WRITES] == tuple(greedy)[: len(run.side.ids) - 1][: WRITES - 1]
    assert (
        opened.run(SHORT, target="Ella").side.ids[1] == LANGUAGE
    )  # one that is typed is of the language, too
    for strategy in (Beam(2), Sample(seed=1)):
        *_, last = decode(opened, SHORT, strategy, max_new_tokens=WRITES)
        assert last.ids[0] == LANGUAGE
    begun = list(decode(opened, SHORT, prefix="Ella", max_new_tokens=1))
    assert begun[0].chosen_by == "argmax"
    file = str(tmp_path / "model" / "tokenizer.json")
    fast = hf.PreTrainedTokenizerFast(tokenizer_file=file, eos_token="</s>", pad_token="<pad>")
    assert wrap(model, fast).first == LANGUAGE
    out = export.export_model(opened, tmp_path / "out")
    assert json.loads((out / GENERATION).read_text())["forced_bos_token_id"] == LANGUAGE
    assert open_model(out).first == LANGUAGE


def test_a_first_token_that_is_none_is_passed_over(case_of, tmp_path):
    folder = variant(case_of("m2m_100")[0], tmp_path)
    for odd in (-1, 10**9, "es_XX", [[1]], True):
        (folder / GENERATION).write_text(json.dumps({"forced_bos_token_id": odd}))
        assert open_model(folder).first is None, odd
