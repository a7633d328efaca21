"""The local stack's queues, vectors and changes, in the SQLite file that has the table."""
