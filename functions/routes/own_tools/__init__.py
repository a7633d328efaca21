"""Routes of custom tools."""
