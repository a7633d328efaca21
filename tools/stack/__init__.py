"""Commands for a running stack: keys, numbers, roles, pauses, settings, restores, a smoke test."""
