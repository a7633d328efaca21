"""Benchmarks of Skein and of its peers; `make bench` runs them."""
