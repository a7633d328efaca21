"""Load tests: many people at once, with and without faults, and checks afterwards (`make load`)."""
