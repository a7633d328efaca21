"""Connect people to the live channel, and push frames to them."""

__all__ = [
    "answer_streams",
    "client_frames",
    "connections",
    "pushes",
    "tickets",
]
