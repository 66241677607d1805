"""Models that visitors make: trainings, uploads, downloads from the Hub; and the names that open them."""
