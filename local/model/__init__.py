"""Serve the small local model, check the model at the start, and report failures."""
