"""Models that come of what visitors do (trainings, uploads, downloads from the Hub), and the names that open them."""
