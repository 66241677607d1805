"""The pages that belong to the course: its overview, documents, errata, homework, names."""
