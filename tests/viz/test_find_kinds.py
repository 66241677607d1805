"""What heads do, on shipped models: the table beside an untrained copy, and the card with the sentences behind a score."""

from __future__ import annotations

import numpy as np
import pytest
from shown_values import states
from workspace_pages import page, said, sent

from core.analysis.heads.head_file import HeadMeasures, read_heads
from core.checkpoints.manifest import shipped_folder
from viz.workspace.find import kinds, pool

TOY = {"model": "induction-tiny", "kind": "causal", "text": "7 k m x 2 q a 7 k m x 2"}


@pytest.fixture
def held() -> HeadMeasures:
    found = read_heads(shipped_folder() / "induction-tiny")
    assert found is not None
    return found


def test_the_table_has_every_head_with_the_scores_that_ship_beside_an_untrained_copy(held):
    test = page("find", **TOY, find__by="kinds")
    table, trained, bare = test.dataframe[0].value, held.trained["causal"], held.untrained["causal"]
    assert sorted(table["head"]) == ["L0.H0", "L0.H1", "L1.H0", "L1.H1"]
    assert list(table["score"]) == sorted(table["score"], reverse=True)
    for row, place in enumerate((int(name[1]), int(name[4])) for name in table["head"]):
        assert table["habit"][row] == trained.label(*place)
        assert table["induction head"][row] == pytest.approx(trained.scores["induction"][place], abs=1e-6)
        name = kinds.card.telling(trained, *place)
        assert table["untrained"][row] == pytest.approx(bare.scores[name][place], abs=1e-6)
    assert states(said(test), "32 texts") and "standard deviation" in said(test)
    assert len(sent(test, "direction", "mode")) == 2, "the text with most and the one with least"


def test_the_card_shows_the_sentences_behind_the_score(held):
    found = pool.evidence_of("induction-tiny", "causal", "induction")
    np.testing.assert_allclose(found.scores.mean(0), held.trained["causal"].scores["induction"], atol=2e-3)
    layer, head = held.trained["causal"].best_head_by_habit()["induction"]
    place = {"model": "induction-tiny", "kind": "causal", "layer": str(layer), "head": str(head)}
    told, own = said(page("find", **place, find__by="kinds")), found.head_scores(layer, head)
    values = (f"{value:.2f}" for value in (own.min(), np.median(own), own.max()))
    assert states(told, f"{len(own)} texts", *values) and "first time" in told


def test_a_small_models_heads_are_compared_among_themselves():
    found = pool.pool("induction-tiny", "causal")
    assert (found.models, len(found.heads), found.by) == (("induction-tiny",), 4, "token")
    assert "its task" in said(page("find", **TOY))
