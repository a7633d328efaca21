"""Let visitors of a web page chat with an agent.

`widgets` has the records that operators set. `visits` opens, renews, ends and erases visits, and
`messages` posts what visitors write. `admission` checks each call of a visitor, and `limits` bounds
what visitors can cost.
"""

__all__ = [
    "admission",
    "api",
    "limits",
    "messages",
    "models",
    "visits",
    "widgets",
]
