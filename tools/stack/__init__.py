"""Commands for a running stack: pauses, settings, migrations, restores and the smoke test."""
