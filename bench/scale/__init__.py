"""Cost and throughput of Skein at large scale: computed, and simulated with the real code.

`make test` runs a smoke test of this package. `make test-slow` runs all of its tests.
"""
