"""LEARN rate, decay and worth from crawls; never chooses."""
