"""What heads do: their habits, measured on our sentences, and which of them are alike."""
