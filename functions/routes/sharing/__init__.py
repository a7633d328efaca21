"""Routes of sharing rules."""
