"""Questions of a page before it reads a text: how much of it, whose model, the habits of its heads."""
