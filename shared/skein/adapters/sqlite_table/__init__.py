"""The table in SQLite: on disk for the local stack, or in memory."""
