"""Many people at once, with and without faults, and what must hold afterwards (`make load`)."""
