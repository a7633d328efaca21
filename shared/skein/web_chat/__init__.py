"""Let visitors of a web page chat with an agent.

`widgets` has the records that operators set. `visits` opens, renews, ends and erases visits, and
`messages` posts what visitors write. `admission` checks each call of a visitor.
"""

__all__ = [
    "admission",
    "api",
    "messages",
    "models",
    "visits",
    "widgets",
]
