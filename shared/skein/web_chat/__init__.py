"""Let visitors of a web page chat with an agent.

`widgets` stores the widgets that operators create. `visits` opens, renews, ends and erases visits.
`messages` posts the messages of visitors. `admission` checks each call of a visitor, and `limits`
limits what visitors can cost.
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
