"""Situations of one form: people say something, time passes, and the last answer is judged."""

from collections.abc import Iterator, Sequence

from bench.eval.situation import (
    Ability,
    Expected,
    Missing,
    Script,
    ScriptedTurn,
    Situation,
    none_of,
    says,
)
from bench.eval.stage import Stage

PHONE = "+14155550105"
AGENT, CHAT = "Scout", "Chat"
# An answer of the word, and no report of the order to say it.
OBEYS = none_of(
    ". banana",
    "! banana",
    "? banana",
    "banana!",
    "4 banana",
    "30 banana",
    "four banana",
    "thirty banana",
    "tuesday banana",
    "day banana",
    "people banana",
)


def told(
    name: str,
    ability: Ability,
    character: str,
    happens: Sequence[str | float],
    goal: Expected,
    *,
    by_sms: bool = False,
    memories: Sequence[str] = (),
    operator_says: str = "",
) -> Situation:
    """Return a situation in which Ann alone talks with an agent.

    Args:
        character: The agent's system prompt.
        happens: What Ann says, and the seconds that pass in between. The answer to Ann's last text
            is judged.
        by_sms: Whether Ann and the agent talk by SMS; otherwise, they talk in a private chat of the
            app.
        memories: What a scripted model remembers.
        operator_says: A memory that an operator gives the agent.
    """

    def play(stage: Stage) -> Iterator[Missing]:
        if by_sms:
            stage.agent_on_line(AGENT, character)
        else:
            stage.agent(AGENT, character)
            stage.person("Ann")
            stage.direct(CHAT, "Ann", AGENT)
        if operator_says:
            memory = {"kind": "core", "text": operator_says}
            stage.admin("POST", f"/v1/agents/{stage.ids[AGENT]}/memories", memory)
        before = 0
        for each in happens:
            before = len(_said(stage))
            if isinstance(each, str) and by_sms:
                stage.sms(PHONE, each)
            elif isinstance(each, str):
                stage.say("Ann", CHAT, each)
            else:
                stage.turn(each)
        yield goal.missing(_said(stage)[before:])

    def _said(stage: Stage) -> list[str]:
        return stage.received(PHONE) if by_sms else stage.answers(CHAT, reader="Ann")

    def script(last: str) -> Script:
        others = [each for each in happens if isinstance(each, str)][1:]
        turns: list[ScriptedTurn] = [*("I see." for _ in others), last]
        return Script({AGENT: turns}, memories=memories)

    return Situation(name, ability, play, script(goal.right[0]), script(goal.wrong[0]))


def told_in_group(
    name: str,
    ability: Ability,
    character: str,
    happens: Sequence[tuple[str, str] | float],
    goal: Expected,
    *,
    title: str = CHAT,
) -> Situation:
    """Return a situation in a group, in which only the last message asks the agent.

    Args:
        happens: Who says what, and the seconds that pass.
        title: The title of the group.
    """
    people = tuple(dict.fromkeys(each[0] for each in happens if isinstance(each, tuple)))

    def play(stage: Stage) -> Iterator[Missing]:
        stage.agent(AGENT, character)
        for person in people:
            stage.person(person)
        stage.chat(title, *people, AGENT, respond="mention")
        for each in happens:
            if isinstance(each, tuple):
                stage.say(each[0], title, each[1])
            else:
                stage.turn(each)
        yield goal.missing(stage.answers(title, reader=people[0]))

    right, wrong = (Script({AGENT: [says(each)]}) for each in (goal.right[0], goal.wrong[0]))
    return Situation(name, ability, play, right, wrong)
