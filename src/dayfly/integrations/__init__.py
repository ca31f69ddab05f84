"""Other people's crawlers."""
