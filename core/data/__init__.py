"""Every text and data set that is ours, or that we make: sentences, passages, grammar, toy tasks; reading what is trained on."""
