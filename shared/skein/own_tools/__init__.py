"""Custom tools: operators add them, agents call them, and Skein guards each call.

Other packages use `records.OwnTools` (the tools of a tenant), `items.OwnToolItems` (the tools that
an agent may call) and `calls.OwnCalls` (which carries out the calls of a step).
"""

__all__ = [
    "api",
    "asking",
    "calls",
    "erasing",
    "functions",
    "http_requests",
    "items",
    "models",
    "operator_approvals",
    "records",
    "sections",
    "sending",
    "signed_context",
    "trials",
]
