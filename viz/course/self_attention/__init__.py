"""Chapter 3, Self-attention: a folder an exhibit, and beside them what several share."""
