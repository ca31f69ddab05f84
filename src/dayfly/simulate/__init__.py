"""A WORLD with known truth."""
