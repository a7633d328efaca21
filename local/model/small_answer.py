"""Answers of the local model: whole sentences, at most two SMS, and no invented facts.

The model makes things up. So rules remove sentences about things that it cannot know: times, plans,
what others said, and what it could do besides writing. The demo agent has fixed answers to messages
that ask for such things, to small talk and to symptoms. Other agents get no fixed answers, because
these would ignore the rules in the agents' own prompts.
"""

import re
from collections.abc import Collection, Iterator

from skein.channels.segments import segment_count

MAX_SEGMENTS = 2
MAX_SENTENCES = 2

DEMO_AGENT = "Coach"
GYM_TOOL = "gym_hours"  # of the demo; the model cannot call tools by itself
DESK_TOOL = "ask_a_person"
# Replies to what this model cannot answer or do. With a better model, Skein can do more.
CANNOT_KNOW = "The small model of this demo can't tell: set OPENAI_API_KEY for one that can."
CANNOT_DO = "I have no tool for that."
TOOL_OFF = "I can't do that: the tool {tool} is off."
TOOL_UNUSED = "I may do that with the tool {tool}, but the small model of this demo can't call it."
MY_RULE = "My instructions for this: {rule}"
CAN_DO = "Ask me something short! With OPENAI_API_KEY set, I also remember, plan and use tools."
SEES_NOTHING = (
    "Thanks for the picture! The small model of this demo can't see it: set OPENAI_API_KEY for one "
    "that can."
)
SENDS_BACK = "Write SEND IT BACK, and it comes back."
READS_NOTHING = "Thanks for the file! The small model of this demo can't read it."
PICTURE_BACK = "Here is your picture."
NO_PICTURE = "Send me a picture first, and I send it back."
SEE_A_DOCTOR = "I can't judge that from here. Take it easy, and see a doctor if it gets no better."
BE_KIND = "I'm sorry to hear that. Be kind to yourself, and take one small step at a time."
ENGLISH_ONLY = "The small model of this demo knows English only: set OPENAI_API_KEY for another."
CANNOT_SAY = "The small model of this demo has no answer: set OPENAI_API_KEY for a better one."

PLAIN = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
)
SENTENCE = re.compile(r"\S.*?[.!?\u2026]+[\"')\]]*(?=\s|$)")
# Ends of abbreviations, initials and numbers of a list, after which a sentence continues.
UNFINISHED = re.compile(r"(?:\b(?:e\.g|i\.e|Dr|Mr|Mrs|Ms|St|vs|approx|no)|\b[A-Z])\.$|^\d+\.$")


def _any(words: str) -> str:
    """Return a regular expression that matches any of the words."""
    return rf"(?:{'|'.join(words.split())})"


def _patterns(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


DAY = _any("mondays? tuesdays? wednesdays? thursdays? fridays? saturdays? sundays?")
MONTH = _any("january february march april june july august september october november december")
MEETING = _any("training session appointment meeting booking class lesson order flight reservation")
ERRAND = _any(
    "call phone ring book reserve schedule order buy send email mail forward remind wake meet"
    " visit pay cancel search google"
)
SAYING = _any("say said says tell told tells write wrote written call called ask asked asks think")
REPLY = _any("say said tell told write written call called answer answered reply replied talk pay")
DID = _any(
    "sent booked called met saw seen heard talked spoke spoken made done went gone was were been"
    " got added ordered checked found noticed remembered"
)
HELPFUL = _any("help answer only give suggest explain write")
UNABLE = _any("tell say know answer help do see be")
BEING = _any("want need like love hate hope live work eat use feel own")

SYMPTOM = _any(
    r"hurts? hurting pains? painful aches? aching injur\w+ broken bleed\w* swollen dizzy faint\w*"
    r" sick ill fever pregnan\w+ medicines? medication pills? suicid\w* chest"
)
MOOD = _any(
    "bad sad guilty lonely stressed depressed down anxious afraid angry upset awful terrible"
)

GREETING = r"(?:hi|hello|hey|hiya|good (?:morning|evening|afternoon))(?:,? \w+)?"
THANKS = r"(?!.*\?)(?:ok(?:ay)?,? )?(?:many )?(?:thanks|thank you|thx|cheers)\b.{0,40}"
GOODBYE = r"(?:good)?bye|see you(?: later| soon)?|good night"
WHO = (
    r"(?:and )?who are you|who(?:'s| is) (?:this|that|there)|what(?:'s| is) your name"
    r"|who am i (?:talking|speaking|writing|texting) (?:to|with)|are you (?:a |an )?(?:\w+ )?"
    r"(?:person|human|man|woman|bot|robot|computer|ai|real)"
)
WHAT = r"what (?:can|do) you do|how can you help(?: me)?|help"
# Small talk, with or without a greeting before it, and the answers. The model is not asked.
SMALL_TALK = tuple(
    (re.compile(rf"\W*(?:{GREETING}\W+)?(?:{pattern})\W*", re.IGNORECASE), answer)
    for pattern, answer in (
        (GREETING, "Hello! What can I do for you?"),
        (THANKS, "You're welcome! Write again any time."),
        (GOODBYE, "Goodbye! Write again any time."),
        (WHO, "I'm {name}, a small computer program. Ask me something short!"),
        (
            WHAT,
            "Ask me something short! With OPENAI_API_KEY set, I also remember, plan and use tools.",
        ),
    )
)
# Illness and pain, about which a wrong answer does harm. The model is not asked.
HEALTH = _patterns(
    rf"\b{SYMPTOM}\b",
    r"\bkill myself\b",
)
# Other emergencies, for which an agent may have a rule of its own.
DANGER = _patterns(
    r"\b(?:emergency|ambulance|heart attack|unconscious|overdos\w*|chok(?:es|ing)|on fire)\b",
    r"\b(?:112|911|999)\b",
    r"\b(?:can't|cannot|can not|hard to) breathe\b",
)
# Bad feelings without a question. The model is not asked.
FEELINGS = _patterns(rf"^(?!.*\?).*\b(?:feel|feeling|i'm|i am) (?:\w+ )?{MOOD}\b")
# Questions whose answers the model cannot know. The model is not asked.
UNKNOWABLE = _patterns(
    r"\bwhat(?:'s| is)? (?:the )?(?:time|date|day|weather)\b",
    rf"\bwhen (?:is|are|was|were|do|does|did|will|am)\b.*\b(?:my|our|your|we|{MEETING})\b",
    rf"\b(?:my|our) (?:next|last|previous) {MEETING}\b.*\?",
    rf"\bwhat (?:did|does|has|have|was|were) (?!i\b|you (?:say|mean)\b).*\b{SAYING}\b",
    rf"\b(?:did|has|have) (?!i\b)(?:\w+ ){{1,4}}{REPLY}\b",
    r"\bwho (?:called|texted|else)\b|\bwho (?:said|told|asked|wrote) (?:to )?(?:me|you|us|that)\b",
    r"\b(?:other|another) (?:chat|conversation|group)s?\b",
    r"\bwhere (?:is|are|am) (?:my|our|i|we|he|she|they)\b|\bwhere (?:do|did|will|shall) we\b",
    r"\b(?:do|does|did|is|was|has|had|will|would|can|could|should) (?:he|she)\b.*\?",
    r"\bwhat (?:are|were|is) (?:my|our|your) plans?\b",
    r"\bwhat(?:'s| is) my (?:\w+ )?name\b|\bwho am i\W*$",
)
# Questions about a person, whose name has a capital letter. The model is not asked.
PERSON = (
    re.compile(r"\b(?:[Dd]id|[Dd]oes|[Hh]as|[Hh]ad|[Ww]ill) (?!I\b)[A-Z]\w+.*\?"),
    re.compile(r"\b(?:[Ww]hy|[Hh]ow|[Ww]here|[Ww]hen) (?:is|was) (?!I\b)[A-Z]\w+.*\?"),
)
# Requests that need a tool. The model is not asked.
PLANNING = _patterns(
    r"\b(?:remind|wake) me\b", r"\b(?:remind|wake|schedule)\b.*\b(?:me|us|at|on|in)\b"
)
ASKING = _patterns(r"\b(?:tell|ask|text|message) (?:my|our|him|her|them)\b")
UNDOABLE = _patterns(
    rf"\b(?:can|could|will|would) you (?:please )?(?:also )?{ERRAND}\b",
    rf"^(?:please )?{ERRAND} (?!is\b|was\b)",
    r"\b(?:remind|call|text|email) me\b",
    r"\b(?:speak|talk) (?:to|with) (?:a|an|the|your|my|some)\b",
    r"\b(?:tell|ask|text) (?:my|our|him|her|them)\b",
)
# Requests for a person of the team.
SOMEBODY = r"(?:(?:(?:an? |the )?(?:real |human )?(?:human|person|operator))|someone|somebody)"
WANTS_PERSON = _patterns(
    rf"\b(?:want|like|need|prefer|let me|can i|could i|may i|please)\b.*"
    rf"\b(?:talk|speak|write|chat) (?:to|with) {SOMEBODY}\b",
    rf"^(?:(?:please )?(?:get|give) me |i (?:want|need) )?{SOMEBODY}(?:,? please)?\W*$",
)
NEEDED_TOOLS = (
    (PLANNING, "set_plan"),
    (WANTS_PERSON, DESK_TOOL),
    (ASKING, "ask_someone"),
)
# An agent's own rule for emergencies: a sentence of its system prompt.
EMERGENCY_RULE = re.compile(
    r"\b(?:emergenc\w+|ambulance|suicid\w*|chest pain|in danger|112|911|999)\b", re.IGNORECASE
)
# Requests for the last picture of the chat.
WANTS_PICTURE = _patterns(
    r"\b(?:send|give|show|text)\b.{0,30}\b(?:picture|photo|image|pic)\b",
    r"\bsend (?:it|that|this|them) back\b",
)
# Sentences that claim what the model cannot know or do.
CLAIMS = _patterns(
    r"\b\d{1,2}[:.]\d\d\b",
    r"\b\d{1,2} ?(?:am|pm|a\.m|p\.m|o'clock)\b",
    rf"\b(?:{DAY}|{MONTH}|yesterday|tomorrow|tonight|this (?:morning|afternoon|evening))\b",
    r"\b(?:next|last) (?:time|week|month|year|night|session|visit)\b",
    rf"\byour (?:next |last |first )?{MEETING} (?:is|was|will|starts|begins|has)\b",
    r"\b(?:he|she|they|[A-Z]\w+) (?:said|says|told|tells|asked|asks|called|wrote)\b",
    r"\byou (?:said|told|asked|wrote|mentioned|sent)\b",
    r"\b(?:we|us|ours)\b",
    rf"\bi(?:'ve| have| had)? {DID}\b",
    r"\bi(?:'ll| will| shall| am going to|'m going to)\b",
    rf"\bi (?:can|could|may|might) (?!{HELPFUL})\w+",
    rf"\bi (?:can't|cannot|couldn't) (?!{UNABLE})\w+",
    r"\byes,? i (?:can|will|do|did|could)\b",
    r"\b(?:my|our) (?!pleasure|name|advice|answer)\w+",
    r"\b(?:call|reach|email|text|contact|visit|meet|see|join|follow) me\b",
    r"\bi(?:'m| am) (?:a|an|the) (?!computer|program|bot)\w+",
    r"\bas an? (?:ai|human|person|man|woman|doctor|coach|expert)\b",
    rf"\bi {BEING}\b",
    r"\b(?:he|she)\b",
    r"https?:|www\.|@|\d{3}[- ]\d{3}",
)
# Sentences in which the model gives itself a name.
NAMED = re.compile(r"\b(?:[Ii](?:'m| am)|[Mm]y name(?:'s| is)|[Tt]his is) (?P<name>[A-Z]\w*)")


def gym_day(question: str) -> str | None:
    """Return the day whose gym hours a message asks for; None for other messages."""
    text = question.translate(PLAIN).casefold()
    found = re.search(DAY, text)
    if found is None or not re.search(r"\bgym\b.*\bopen\b|\bopen\b.*\bgym\b", text):
        return None
    return found[0].removesuffix("s")


def wants_picture(question: str) -> bool:
    """Return whether a message asks for the last picture of the chat."""
    text = question.translate(PLAIN)
    return any(pattern.search(text) for pattern in WANTS_PICTURE)


def wants_person(question: str) -> bool:
    """Return whether a message asks for a human of the team."""
    text = question.translate(PLAIN)
    return any(pattern.search(text) for pattern in WANTS_PERSON)


def refusal(question: str, offered: Collection[str]) -> str | None:
    """Return why the agent can't do what a message asks for; None if it asks for nothing.

    Args:
        offered: The names of the tools that the agent may call.
    """
    text = question.translate(PLAIN)
    for patterns, tool in NEEDED_TOOLS:
        if any(pattern.search(text) for pattern in patterns):
            return (TOOL_UNUSED if tool in offered else TOOL_OFF).format(tool=tool)
    return CANNOT_DO if any(pattern.search(text) for pattern in UNDOABLE) else None


def emergency_rule(question: str, character: str) -> str | None:
    """Return the agent's own rule for messages about illness, pain or danger; None for others.

    Args:
        character: The agent's system prompt, on one line.
    """
    text = question.translate(PLAIN)
    if not any(pattern.search(text) for pattern in (*HEALTH, *DANGER)):
        return None
    rules = filter(EMERGENCY_RULE.search, _sentences(character, whole=True))
    found = next(rules, None)
    return MY_RULE.format(rule=found) if found is not None else None


def known_answer(question: str, *, name: str) -> str | None:
    """Return the demo agent's fixed answer to a message; None for any other message or agent.

    Args:
        question: The message to answer.
        name: The name of the agent.
    """
    if name != DEMO_AGENT:
        return None
    text = question.translate(PLAIN)
    letters = [character for character in text if character.isalpha()]
    if sum(map(str.isascii, letters)) * 2 < len(letters):
        return ENGLISH_ONLY
    for pattern, answer in SMALL_TALK:
        if pattern.fullmatch(text):
            return answer.format(name=name)
    for patterns, answer in (
        (UNKNOWABLE, CANNOT_KNOW),
        (PERSON, CANNOT_KNOW),
        (HEALTH, SEE_A_DOCTOR),
        (FEELINGS, BE_KIND),
    ):
        if any(pattern.search(text) for pattern in patterns):
            return answer
    return None


def shaped(text: str, *, whole: bool, name: str) -> str:
    """Return the part of a model's text that may be sent.

    Args:
        text: The text that the model wrote.
        whole: Whether the model ended the text itself. Otherwise, the text may be cut off.
        name: The agent's name. A sentence in which the model gives itself another name is removed.

    Returns:
        One to `MAX_SENTENCES` sentences, at most two SMS long; `CANNOT_SAY` if no sentence may be
        sent.
    """
    line = " ".join(text.translate(PLAIN).split())
    said: list[str] = []
    for sentence in _sentences(line, whole=whole):
        repeated = sentence.casefold() in map(str.casefold, said)
        if repeated or _claims(sentence) or _other_name(sentence, name):
            continue
        if len(said) == MAX_SENTENCES or segment_count(" ".join([*said, sentence])) > MAX_SEGMENTS:
            break
        said.append(sentence)
    return " ".join(said) or CANNOT_SAY


def _claims(sentence: str) -> bool:
    return any(pattern.search(sentence) for pattern in CLAIMS)


def _other_name(sentence: str, name: str) -> bool:
    own = name.casefold().split()
    return any(found["name"].casefold() not in own for found in NAMED.finditer(sentence))


def _sentences(line: str, *, whole: bool) -> Iterator[str]:
    """Split a line into sentences.

    If the text was cut off (not `whole`), an unfinished last sentence is dropped.
    """
    begin = 0
    for match in SENTENCE.finditer(line):
        sentence = line[begin : match.end()].strip()
        if UNFINISHED.search(sentence):
            continue
        yield sentence
        begin = match.end()
    rest = line[begin:].strip().rstrip(",;:-")
    if whole and rest:
        yield rest if rest.endswith((".", "!", "?")) else f"{rest}."
