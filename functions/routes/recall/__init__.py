"""Routes of recall."""
