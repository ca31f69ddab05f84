"""Checks that any implementation, a user's too, must pass."""
