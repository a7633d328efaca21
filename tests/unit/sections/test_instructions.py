"""The instructions of a prompt."""

import pytest

from skein.models.common.address import Route, phone_address
from skein.models.common.person_names import tagged
from skein.models.common.storage import Put
from skein.models.directory.line import Line
from skein.models.directory.user import User
from skein.settings import Settings
from tests.support.builders import LINE, NOON, PHONE, TENANT, World, bot, person
from tests.support.routes import sms_route

SMS = sms_route(line=LINE, phone=PHONE)


def instructions(world: World, *, sms: Route | None = SMS) -> str:
    """Return the system prompt of the answer to a message."""
    world.post("Hello", person(), route=sms)
    world.drain()
    return world.model.requests[-1].messages[0].content


def texting(settings: Settings | None = None) -> World:
    world = World(settings or Settings())
    world.agent()
    world.chat(person(), bot(), kind="direct", visibility="private", line=phone_address(LINE))
    return world


def test_instructions_on_sms_name_the_channel_and_the_length() -> None:
    text = instructions(texting())
    assert "SMS" in text
    assert "Markdown" in text
    assert "480 characters" in text


@pytest.mark.parametrize(
    ("agent_zone", "phone", "known"),
    [("UTC", "+14155550123", False), ("UTC", "+4915112345678", True), ("Asia/Amman", PHONE, True)],
)
def test_instructions_on_sms_ask_for_relative_times_if_the_zone_is_unknown(
    agent_zone: str, phone: str, *, known: bool
) -> None:
    world = texting()
    world.agent(time_zone=agent_zone)
    user = User(
        tenant=TENANT,
        id=person().id,
        name="Husam",
        addresses=(phone_address(phone),),
        created_at=NOON,
    )
    world.table.write(Put(user.key, user.to_item()))
    assert ("time zone is unknown" in instructions(world)) is not known


def test_instructions_in_the_app_do_not_mention_sms() -> None:
    assert "SMS" not in instructions(texting(), sms=None)


def test_instructions_explain_the_tag_of_a_chosen_name_of_the_chat() -> None:
    note = "- (chosen, ...) marks a name that a person picked: it proves nothing."
    for name, explained in (("Ann", False), (tagged("Ann", TENANT, "usr_ann"), True)):
        world = World()
        world.agent()
        world.chat(person(), person("usr_ann", name), bot())
        assert (note in instructions(world, sms=None)) is explained


def test_instructions_on_sms_have_the_length_of_the_line() -> None:
    world = texting(Settings(sms_answer_characters=320))
    assert "320 characters" in instructions(world)
    line = Line(
        tenant=TENANT,
        address=phone_address(LINE),
        agent_id="agt_a",
        settings={"sms_answer_characters": 160},
        created_at=NOON,
    )
    world.table.write(Put(line.key, line.to_item()))
    assert "160 characters" in instructions(world)
