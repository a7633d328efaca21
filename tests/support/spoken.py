"""Names of the members of a chat, by which an answer may begin."""

NAMES = frozenset({"Ann", "Ann (2)", "Coach", "Mary Ann", "You"})
