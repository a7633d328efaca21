"""Routes of the web chat."""
