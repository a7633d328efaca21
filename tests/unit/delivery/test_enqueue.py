"""Messages that are sent as SMS."""

from tests.support.agents import steps_of
from tests.support.builders import LINE, PHONE, World, bot, person
from tests.support.fakes import ScriptedModel, says
from tests.support.routes import sms_route
from tests.support.sms import Texting

MARKDOWN, PLAIN = "**Run** 5 km:\n* slowly", "Run 5 km:\n- slowly"
SMS = sms_route(line=LINE, phone=PHONE)


def test_markdown_for_a_person_on_sms_is_stored_and_sent_as_plain_text() -> None:
    world = Texting()
    job = world.say(MARKDOWN)
    assert world.texts() == [PLAIN]
    assert [part.body for part in world.deliver(job).parts] == [PLAIN]


def test_markdown_of_the_model_stays_in_its_step() -> None:
    world = Texting(model=ScriptedModel.saying(MARKDOWN))
    world.post("How far?", person(), route=SMS)
    world.drain()
    [run] = world.runs()
    assert [step.text for step in steps_of(world, run)] == [MARKDOWN]
    assert world.texts() == ["How far?", PLAIN]


def test_markdown_of_the_tool_send_message_is_plain_text_on_sms() -> None:
    world = Texting(model=ScriptedModel.saying(says(MARKDOWN), "[silence]"))
    world.agent(reply_mode="tools")
    world.post("How far?", person(), route=SMS)
    world.drain()
    assert world.texts() == ["How far?", PLAIN]


def test_markdown_for_a_person_in_the_app_stays() -> None:
    world = Texting()
    world.post("Hello from the app", person())
    world.post(MARKDOWN, bot())
    assert world.texts()[-1] == MARKDOWN


def test_markdown_in_a_group_stays() -> None:
    world = World()
    world.agent()
    world.chat(person(), bot(), route=SMS)
    world.post(MARKDOWN, bot())
    assert world.texts() == [MARKDOWN]


def test_markdown_of_people_and_notices_stays() -> None:
    world = Texting()
    world.post(MARKDOWN, bot(), kind="notice")
    world.post(MARKDOWN, person(), route=SMS)
    assert world.texts() == [MARKDOWN, MARKDOWN]


def test_answer_longer_than_the_setting_is_sent_whole_in_parts_that_end_with_sentences() -> None:
    answer = ("Run 5 km. " * 400).strip()
    world = Texting(model=ScriptedModel.saying(answer))
    world.post("How far?", person(), route=SMS)
    world.drain()
    assert world.texts()[-1] == answer
    parts = world.deliveries()[0].parts
    assert len(parts) > 1
    assert all(part.body.endswith("km.") for part in parts)
