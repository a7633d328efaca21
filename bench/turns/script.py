"""The texts of all measured chats. They are the same for Skein and for its peers."""

LENGTHS = (10, 100, 1_000, 10_000, 100_000)
TEXT_CHARACTERS = 190
SYSTEM_PROMPT = (
    "You are Coach, a running coach. You know the people you train, keep what they tell you in "
    "mind, and answer in a few plain sentences. You never promise what you cannot keep."
)

_TALK = """\
easy run along the river then four hills with a long pause after each one while my left knee felt
fine but slept badly and the race in spring is what all of this training is for anyway"""
_WORDS = _TALK.split()


def text(seq: int) -> str:
    """Return the text of message number `seq`: 190 characters, and different for each number."""
    turned = [_WORDS[(seq * 7 + position) % len(_WORDS)] for position in range(2 * len(_WORDS))]
    return f"Number {seq}: {' '.join(turned)}"[: TEXT_CHARACTERS - 1] + "."
