"""THE LIVE DECISION: when to look where."""
