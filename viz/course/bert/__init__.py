"""Chapter 5, BERT: a folder an exhibit, and beside them what several share."""
