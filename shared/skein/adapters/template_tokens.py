"""Chat-template tokens in prompts, which some providers read as the start of another message.

Servers of open models (llama.cpp, vLLM and others) may parse the tokens of a model's own template
in the text of a message. To break such a token, an invisible character is inserted after its first
character. Stored texts are not changed: requests get the character, and answers lose it again.
"""

import re

BREAK = "\u200b"
"""A zero-width space: readers see the same text, and no tokenizer sees the token."""

# Sources: the published templates of ChatML, Llama 2 to 4, Mistral, Gemma, Phi, Command R,
# DeepSeek (with full-width bars), Granite and gpt-oss.
_PLAIN = (
    *("s", "/s", "bos", "eos", "pad", "unk", "mask", "BOS_TOKEN", "EOS_TOKEN", "sop", "eop"),
    *("start_of_turn", "end_of_turn", "start_of_image", "end_of_image", "start_of_audio"),
    *("end_of_audio", "tool_call", "/tool_call", "tool_response", "/tool_response"),
)
_BRACKETED = (
    *("INST", "/INST", "SYSTEM_PROMPT", "/SYSTEM_PROMPT", "AVAILABLE_TOOLS", "/AVAILABLE_TOOLS"),
    *("TOOL_CALLS", "TOOL_RESULTS", "/TOOL_RESULTS", "TOOL_CONTENT", "ARGS", "CALL_ID", "IMG"),
    *("THINK", "/THINK", "gMASK", "sMASK"),
)
_REST = (
    rf"[|\uff5c][^\s<>|\uff5c{BREAK}]{{1,60}}[|\uff5c]?>"  # <|im_start|>, <|turn>
    rf"|[^\s<>|\uff5c{BREAK}]{{1,60}}[|\uff5c]>"  # <turn|>
    rf"|(?:{'|'.join(_PLAIN)})>"
    r"|</?SYS>>"
)
_IN_BRACKETS = rf"(?:{'|'.join(_BRACKETED)})\]"
_TOKEN = re.compile(rf"<(?={_REST})|\[(?={_IN_BRACKETS})")
# A model may write the character as an escape in the JSON of its arguments.
_BROKEN = re.compile(rf"([<\[])(?:{BREAK}|\\u200[bB])(?={_REST}|{_IN_BRACKETS})")


def harmless(text: str) -> str:
    """Return a text in which every chat-template token is broken (idempotent)."""
    return _TOKEN.sub(lambda found: found[0] + BREAK, text)


def restored(text: str) -> str:
    """Return a model's text with the tokens restored that `harmless` broke."""
    return _BROKEN.sub(r"\1", text)
