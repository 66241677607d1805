"""Shared Streamlit pieces: state in the link, controls bound to it, parts of a page, errors, computing."""
