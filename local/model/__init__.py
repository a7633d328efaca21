"""Serve the small local model, check the model's API at the start, and report its failures."""
