"""Streamlit's AppTest looks, for each test, through the metadata of every installed package for components; here it looks once a process."""

from __future__ import annotations

import functools

from streamlit.components.v2 import manifest_scanner

manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
