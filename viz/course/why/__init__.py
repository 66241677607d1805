"""Chapter 1, Why attention: a folder an exhibit, and beside them what several share."""
