"""Routes of webhook services."""
