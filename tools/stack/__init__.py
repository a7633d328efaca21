"""Commands for a running stack: pauses, settings, restores and the smoke test."""
