"""Chapter 2, Look-up: a folder an exhibit, and beside them what several share."""
