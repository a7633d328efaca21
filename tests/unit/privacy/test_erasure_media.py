"""Files are gone from the table and the bucket with their message, their sender and their words."""

from typing import Any

import pytest

from skein.models.chats.chat import Media
from skein.models.chats.media import MediaFile
from skein.models.common.base import NamedMember
from skein.models.common.storage import Put
from skein.models.visibility.provenance import Authors
from skein.privacy.erasure_preview import ErasurePreviews
from tests.support.agents import COACH, actor
from tests.support.builders import NOON, TENANT, World
from tests.support.erasure import BEN, ZOE, end, settle
from tests.support.template import running


def world_of() -> World:
    world = World()
    actor(world)
    world.known(ZOE, BEN)
    world.chat(ZOE, BEN, COACH)
    return world


def send(world: World, sender: NamedMember, media_id: str, **fields: Any) -> MediaFile:
    """Post a message with a file that is ready; the bucket has all that may be stored of it."""
    media = Media(id=media_id, content_type="application/pdf")
    seq = world.post("Look", sender, media=(media,)).message.seq
    file = MediaFile(
        tenant=TENANT,
        chat_id="chat_1",
        id=media_id,
        sender=sender,
        content_type="application/pdf",
        state="ready",
        seq=seq,
        created_at=NOON,
        kept_until=world.clock.now().replace(year=2027),
        **fields,
    )
    world.table.write(Put(file.key, file.to_item()))
    with running("UpkeepWorker"):
        for name in file.file_names[1:]:
            world.files.put(name, b"content", "application/pdf")
    return file


def left(world: World) -> set[str]:
    """The ids of the files of which anything is left."""
    items = {key.sk.removeprefix(MediaFile.PREFIX) for key in world.table.all_keys()}
    items = {each for each in items if each.startswith("med_")}
    stored = {name.split("/")[-1].partition(".")[0] for name in world.files.contents}
    assert items == stored
    return items


@pytest.mark.parametrize("how", ["delete", "forget"])
def test_files_of_a_deleted_message_are_gone_and_no_others(how: str) -> None:
    world = world_of()
    for media_id in ("med_1", "med_2"):
        send(world, ZOE, media_id)
    if how == "delete":
        world.app.message_deletion.delete(TENANT, ZOE.ref, "chat_1", 1)
    else:
        world.app.message_deletion.forget(TENANT, ZOE.id, "chat_1", 1)
    settle(world)
    assert left(world) == {"med_2"}


def test_erasure_of_a_person_counts_and_deletes_their_files_and_copies_of_agents() -> None:
    world = world_of()
    send(world, ZOE, "med_zoe")
    send(world, BEN, "med_ben")
    send(world, COACH, "med_copy", authors=Authors.in_digests([ZOE.id]))
    send(world, COACH, "med_other", authors=Authors.in_digests([BEN.id]))
    preview = world.app.get(ErasurePreviews).of(TENANT, ZOE.id)
    assert preview.erased["files"] == 2
    erasure = world.app.erasures.request(TENANT, ZOE.id, by="usr_op")
    settle(world)
    done = end(world, erasure)
    assert left(world) == {"med_ben", "med_other"}
    assert done.sweeps[0].counts["files"] == 2
