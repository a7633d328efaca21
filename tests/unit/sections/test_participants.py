"""PARTICIPANTS is the legend of a chat, as far as there is room."""

from skein.agent.sections.participants import participants
from skein.interface.history import History
from skein.interface.section import LIST_SHARE, Section
from skein.models.common.person_names import tagged
from tests.support.builders import TENANT, World, bot, person
from tests.support.sections import section_input

COACH = bot()


def test_legend_distinguishes_chosen_name_from_equal_given_name() -> None:
    given = person("usr_ann", "Ann Lee")
    chosen = person("usr_bob", tagged("Ann Lee", TENANT, "usr_bob"))
    world = World()
    world.chat(given, chosen, COACH)
    section = participants(section_input(chat=world.stored_chat()))
    assert section is not None
    assert section.text == (
        "PARTICIPANTS:\n  Ann Lee (human) \u00b7 Ann Lee (chosen, q6zw) (human) \u00b7 "
        "Coach (agent, you)"
    )


def test_legend_without_room_keeps_senders_and_counts_the_others() -> None:
    people = [person(f"usr_{number}", f"Person \u200b{number}") for number in range(40)]
    world = World()
    world.chat(*people, COACH, respond="manual")
    world.post("Hello", people[30])
    chat, messages = world.stored_chat(), world.messages()
    history, tools = History(messages=tuple(messages)), {"update_user": ("user_id",)}

    def shown(limit: int) -> Section:
        left = limit * LIST_SHARE
        section = participants(section_input(history, chat=chat, tokens_left=left, tools=tools))
        assert section is not None
        return section

    whole = shown(100_000)
    without_ids, few = shown(whole.tokens - 1), shown(60)
    assert "id usr_5" in whole.text
    assert "id usr_5" not in without_ids.text
    assert 'named "Person' in without_ids.text
    assert few.tokens <= 60
    assert "Person 30 (human)" in few.text
    assert "Coach (agent, you)" in few.text
    assert few.text.endswith(" more")
    assert "named" not in few.text
