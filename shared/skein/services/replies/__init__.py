"""Post what a run has to say: final messages, questions, notices."""

__all__ = [
    "ask_and_wait",
    "final_message",
    "user_notices",
]
