"""Manage agents, users and lines, with their display names and phone numbers."""

__all__ = [
    "address_detach",
    "agents",
    "assigned_numbers",
    "display_names",
    "keyed_calls",
    "lines",
    "model_status",
    "model_warnings",
    "name_index",
    "number_codes",
    "opted_out_numbers",
    "people_search",
    "profile_changes",
    "sign_outs",
    "text_consents",
    "time_zones",
    "users",
]
