"""HOW MUCH one crawl is worth now: closed forms, price and bound, stochastic index."""
