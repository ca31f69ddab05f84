"""Speed, as ratios measured in one run on one machine; `make bench` prints them all."""
