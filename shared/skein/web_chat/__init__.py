"""Let visitors of a web page chat with an agent.

`widgets` has the records that operators set, and what anybody may read of them.
"""

__all__ = [
    "api",
    "models",
    "widgets",
]
