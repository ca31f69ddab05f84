"""LOOKING AT IT: API, dashboard, metrics."""
