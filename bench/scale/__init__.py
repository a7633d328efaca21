"""What Skein does at sizes that nobody has at home: computed, and simulated with the real code.

It is no part of the product: `make lint` does not check its types, and `make test` runs a smoke
test of it only. `make test-slow` runs all of its tests.
"""
