"""The routes of what agents remember, and of recall."""
