"""GOING OUT: from a source to a Crawl."""
