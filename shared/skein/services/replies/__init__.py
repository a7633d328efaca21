"""Post the messages of a run: final messages, questions and notices."""

__all__ = [
    "ask_and_wait",
    "final_message",
    "noticed_leases",
    "sharing_notices",
    "user_notices",
]
