"""The desk: a person of the team takes a chat over, answers there, and hands it back.

Others use `taking.Taking`, `messages.TeamMessages`, `returning.Returns` and `queue.DeskQueue`.
The state that each post checks is `Chat.desk`.
"""

__all__ = [
    "api",
    "messages",
    "queue",
    "returning",
    "taking",
]
