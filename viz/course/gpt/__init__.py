"""Chapter 6, GPT: a folder an exhibit."""
