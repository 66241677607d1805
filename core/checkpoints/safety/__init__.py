"""Checks of foreign files before anything is allocated or run: configuration, headers, plan of reading, tokenizer in a limited process."""
