"""The recorded day: a tenant with three days of history, for a first look at Skein.

A separate process plays the story through the real code, with a clock that begins three days ago
and a model with scripted answers. Its rows are then copied into the data folder.
"""
