"""Pages drawn without a browser, at no more than the price of the page.

For each test Streamlit's AppTest looks through the metadata of every installed package for components, and altair holds each chart
against its schema each time that it is drawn. What is the same is looked at once a process.
"""

from __future__ import annotations

import functools
import json
from typing import Any

from altair.utils.schemapi import SchemaBase
from streamlit.components.v2 import manifest_scanner

VALID: set[int] = set()
"""What was found to be as its schema says."""


def once(honest: Any) -> Any:
    """`SchemaBase.validate`, asked once about what is the same."""

    @functools.wraps(honest)
    def validate(
        cls: type[SchemaBase], instance: dict[str, Any], schema: dict[str, Any] | None = None
    ) -> None:
        told = hash((cls.__name__, id(schema), json.dumps(instance, default=repr)))
        if told not in VALID:
            honest(cls, instance, schema)
            VALID.add(told)

    return classmethod(validate)


@functools.cache
def begin() -> None:
    """From here on in this process."""
    manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
    SchemaBase.validate = once(SchemaBase.validate.__func__)
