"""Chapter 7, Beyond words: a folder an exhibit, and beside them what several share."""
