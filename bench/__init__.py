"""Measures what a turn costs, beside what people would use instead; `make bench` runs it all."""
