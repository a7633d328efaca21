"""Routes of event endpoints."""
