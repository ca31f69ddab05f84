"""The papers' and rivals' learners of a whole policy."""
