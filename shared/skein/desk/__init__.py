"""The desk: a person of the team takes a chat over, answers there, and hands it back.

Other packages use `taking.Taking`, `messages.TeamMessages`, `returning.Returns`,
`waiting.WaitingStays` and `queue.DeskQueue`. Before a message is posted in a chat, its sender is
checked against `Chat.desk`. Code outside of this package puts chats on the desk with
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
