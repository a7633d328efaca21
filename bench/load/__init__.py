"""Load tests: many people at once, with or without faults, then checks (`make load`)."""
