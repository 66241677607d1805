"""About names the source of every model that ships."""

from __future__ import annotations

from core.checkpoints.manifest import read_manifest, shipped_folder
from viz.workspace.about.page import training_sources


def test_every_shipped_model_stands_beside_its_source() -> None:
    """Each model is listed once, with a source; the names that licences ask for are there."""
    sources = training_sources()
    listed = [model for _, models in sources for model in models]
    assert sorted(listed) == sorted(read_manifest(shipped_folder())) and all(source for source, _ in sources)
    printed = " ".join(source for source, _ in sources)
    for name in ("Quick, Draw!", "CC BY 4.0", "Tatoeba", "CC BY 2.0 FR", "Project Gutenberg", "espeak-ng"):
        assert name in printed
