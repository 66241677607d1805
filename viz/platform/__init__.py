"""The server process and everything that touches Streamlit from the inside.

No other part of `viz` imports Streamlit's inner modules: a new version of it is met here, in five files.
"""
