"""The desk: a person of the team takes a chat over, answers there, and hands it back.

Others use `taking.Taking`, `messages.TeamMessages`, `returning.Returns`, `waiting.WaitingStays` and
`queue.DeskQueue`. The state that each post checks is `Chat.desk`. The core puts chats here, by
`services/chats/desk_requests.py`.
"""

__all__ = [
    "api",
    "canned_answers",
    "drafts",
    "messages",
    "models",
    "queue",
    "returning",
    "sections",
    "taking",
    "tools",
    "waiting",
]
