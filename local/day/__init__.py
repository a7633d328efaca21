"""The recorded day: a tenant in which something has happened, for the first look at Skein.

A process of its own plays the story through the real code, with a clock that begins three days ago
and a model with scripted answers. Its rows are then copied into the data folder.
"""
