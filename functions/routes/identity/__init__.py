"""Routes of API keys and tokens."""
