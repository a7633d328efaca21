"""Connect people to the live channel, and send frames to them."""

__all__ = [
    "answer_streams",
    "api",
    "changes",
    "client_frames",
    "connections",
    "devices",
    "models",
    "pushes",
    "reading",
    "tickets",
]
