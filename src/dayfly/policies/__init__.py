"""WHICH sources now."""
