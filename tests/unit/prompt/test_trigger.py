"""The trigger's sentences: whom a message addresses, what it answers, and who waits for a reply."""

from typing import Any

from tests.support.builders import World, bot, person

HUSAM, COACH, LEDGER = person(), bot(), bot("agt_b", "Ledger")


def _told(text: str, sender: Any = HUSAM, **message: Any) -> list[str]:
    """The trigger of Coach's run, in a group with Ledger after a message of Coach's."""
    world = World()
    for agent in (COACH, LEDGER):
        world.agent(agent.id, agent.name, history_format="timeline", reply_mode="tools")
    world.chat(HUSAM, COACH, LEDGER)
    world.post("I can help", COACH, depth=9)
    world.drain()
    world.post(text, sender, **message)
    world.drain()
    asked = [one.messages[0].content for one in world.model.requests]
    prompt = next(one for one in asked if 'name: "Coach"' in one)
    section = prompt.split("TRIGGER:\n")[1].split("\n\n")[0]
    return [line.strip() for line in section.splitlines()]


def test_trigger_of_several_agents_names_the_others() -> None:
    assert _told("Hello all") == [
        'Husam wrote msg:2 in "Project Alpha".',
        "The same message also started Ledger.",
    ]


def test_trigger_states_who_is_named() -> None:
    assert _told("@coach, a plan?")[0] == 'Husam wrote msg:2 in "Project Alpha" and named you.'
    assert _told("Ledger, a sum?")[0] == (
        'Husam wrote msg:2 in "Project Alpha" and named Ledger, not you.'
    )
    assert _told("Coach and Ledger?")[0].endswith(" and named you and Ledger.")


def test_trigger_states_a_reply_to_the_agents_own_message() -> None:
    assert _told("Please do", reply_to=1)[0] == (
        'Husam wrote msg:2 in "Project Alpha" in reply to your msg:1.'
    )


def test_trigger_states_a_waiting_agent_and_no_waiting_person() -> None:
    waits = _told("Is it safe?", LEDGER, expects_reply=True, depth=1)
    assert waits == ['Ledger wrote msg:2 in "Project Alpha".', "Ledger waits for a reply."]
    assert _told("It is safe.", LEDGER, depth=1) == ['Ledger wrote msg:2 in "Project Alpha".']
