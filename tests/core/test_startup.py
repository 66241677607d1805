"""What a start of the app must not pay for."""

import subprocess
import sys

LISTING = """
import sys
from core.checkpoints import listing
assert listing() and all(model.ok for model in listing())
print(*(name for name in ("torch._dynamo", "torch._inductor", "transformers") if name in sys.modules))
"""


def test_listing_the_shipped_models_does_not_import_a_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
