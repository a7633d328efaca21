"""Manage agents, users and lines, with their display names and phone numbers."""

__all__ = [
    "agents",
    "display_names",
    "lines",
    "model_status",
    "model_warnings",
    "number_detach",
    "people_search",
    "users",
]
