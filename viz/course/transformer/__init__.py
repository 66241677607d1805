"""Chapter 4, The Transformer: a folder an exhibit, and beside them what several share."""
