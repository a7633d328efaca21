"""Routes of errands."""
