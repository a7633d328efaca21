"""Routes of the live channel."""
