"""Words to which a person agreed are theirs: they delete them, and erasure and export have them."""

from collections.abc import Sequence

from skein.models.chats.choice import YES
from skein.models.chats.consent import Consent
from skein.models.common.storage import Exists, Query, Update, Write
from skein.models.directory.user import User
from skein.privacy.erasure_consents import wordless
from skein.privacy.export import Exports
from tests.support.agents import COACH, END, settle
from tests.support.api_client import Client, operator
from tests.support.builders import TENANT, World
from tests.support.consents import ALICE, BEN, answer, office, question, tell
from tests.support.erasure import lines_of
from tests.support.fakes import says

MARK = "pomegranates"
SAID = f"I love {MARK}"


def posted() -> World:
    """Alice has agreed to words for the team and the town; both have them."""
    world = office(says(SAID, chat_id="chat_team", also_in=["chat_town"]), END)
    world.chat(ALICE, COACH, chat_id="chat_town", title="Town", respond="mention")
    tell(world, "Tell them")
    answer(world, YES)
    assert world.texts("chat_team") == world.texts("chat_town") == [SAID]
    return world


def delete(world: World, chat_id: str = "chat_team") -> None:
    world.app.message_deletion.delete(TENANT, ALICE.ref, chat_id, 1)


def finish(world: World) -> None:
    for _ in range(6):
        settle(world)
        world.clock.advance(1_000)
        world.tick()
    assert not [key for key in world.table.all_keys() if "#ERASURES" in key.pk]


def traces(world: World) -> list[str]:
    return [key for key, text in lines_of(world) if MARK in text]


def consents(world: World) -> list[Consent]:
    pk = User.key_of(TENANT, ALICE.id).pk
    return [
        Consent.from_item(item) for item in world.table.query(Query.under(pk, Consent.PREFIX)).items
    ]


def test_person_deletes_the_words_with_all_copies() -> None:
    world = posted()
    assert traces(world)

    delete(world)
    finish(world)

    assert traces(world) == []
    kinds = [message.kind for message in (*world.messages("chat_town"), world.messages()[1])]
    assert kinds == ["deleted", "deleted"]
    [consent] = consents(world)
    assert (consent.text, [post.status for post in consent.posts]) == ("", ["posted", "posted"])


def test_erasure_of_the_question_takes_words_that_a_backup_brought_back() -> None:
    world = posted()
    delete(world)
    [consent] = consents(world)
    world.table.write(Update(consent.key, set={"text": SAID}, condition=Exists()))
    finish(world)
    assert consents(world)[0].text == ""


def test_words_are_deleted_from_any_of_their_chats() -> None:
    world = posted()
    delete(world, "chat_town")
    finish(world)
    assert traces(world) == []


def test_deletion_ends_posts_that_are_still_to_be_made() -> None:
    world = office(says(SAID, chat_id="chat_team", also_in=["chat_town"]), END)
    world.chat(ALICE, COACH, chat_id="chat_town", title="Town", respond="mention")
    tell(world, "Tell them")
    table, transact = world.table, world.table.transact

    def deleting_the_first(writes: Sequence[Write]) -> None:
        transact(writes)
        if world.texts("chat_team") == [SAID]:
            table.transact = transact  # type: ignore[method-assign]
            wordless(table, consents(world)[0].key, world.clock.now())

    table.transact = deleting_the_first  # type: ignore[method-assign]
    answer(world, YES)
    assert world.texts("chat_town") == []
    assert [post.failure for post in consents(world)[0].posts] == [None, "deleted"]


def test_another_persons_post_cannot_be_deleted() -> None:
    world = posted()
    answer_ = Client(world, sub=BEN.id).delete("/v1/chats/chat_team/messages/1")
    assert answer_.status == 403


def test_erasure_of_the_person_takes_consents_and_their_words() -> None:
    world = posted()
    world.app.erasures.request(TENANT, ALICE.id, by="op")
    for _ in range(6):
        settle(world)
        world.clock.advance(1_000)
        world.tick()
    assert consents(world) == []
    assert traces(world) == []


def test_export_has_the_consents() -> None:
    world = posted()
    page = world.app.get(Exports).page(TENANT, ALICE.id)
    assert [consent.text for consent in page.consents] == [SAID]
    exported = operator(world).get(f"/v1/users/{ALICE.id}/export").body
    assert [consent["text"] for consent in exported["consents"]] == [SAID]


def test_person_lists_their_consents() -> None:
    world = posted()
    [listed] = Client(world, sub=ALICE.id).get("/v1/me/consents").body["items"]
    assert (listed["text"], listed["choice_seq"]) == (SAID, question(world).seq)
    assert [(post["title"], post["status"]) for post in listed["posts"]] == [
        ("Team", "posted"),
        ("Town", "posted"),
    ]
    assert Client(world, sub=BEN.id).get("/v1/me/consents").body["items"] == []


def test_consented_post_does_not_reveal_the_chat_of_its_question() -> None:
    world = posted()
    body = Client(world, sub=BEN.id).get("/v1/chats/chat_team/messages").body
    assert body["items"][0]["via"]["agent_id"] == COACH.id
    assert "chat_1" not in str(body)
    assert question(world).id not in str(body)
