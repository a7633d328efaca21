"""The table and the queues of the local stack in one SQLite file."""
