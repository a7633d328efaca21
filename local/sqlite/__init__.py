"""The queues, vectors and changes of the local stack, beside its table in one SQLite file."""
