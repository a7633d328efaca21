"""A source is read, read again and deleted with a death at each call: one version, no file left."""

from datetime import timedelta
from typing import Any

import admin_api
from skein.knowledge.models.source import KnowledgeHead, Source, SourceVersion
from skein.knowledge.search import KnowledgeSearch
from skein.models.common.http import HttpAnswer
from skein.models.common.storage import Query
from tests.faults.deployment import Deployment, ReadingOperator, every_death
from tests.faults.sampling import FaultShare
from tests.faults.sweeps import Sweep
from tests.support.builders import TENANT

OLD, NEW = b"# Hours\n\nWe open at nine.", b"# Hours\n\nWe open at ten."
URL = "https://shop.example/hours"


class Shop(Deployment):
    """A tenant with a source that was read, and another one of the same audience."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent()
        self.operator = ReadingOperator(self, admin_api, sub="usr_op", scope="admin")
        self.answers(OLD)
        self.create("Hours")
        self.create("Other", url=None, text="Parking is free.")
        self.fuse.disarm()

    def answers(self, page: bytes) -> None:
        self.service.answer = lambda _: HttpAnswer(
            status=200, content_type="text/markdown", body=page
        )

    def create(self, name: str, **given: Any) -> None:
        body = {"name": name, "url": URL} | given
        headers = {"Idempotency-Key": name}
        self.operator.call(
            "POST",
            "/v1/sources",
            {key: value for key, value in body.items() if value is not None},
            headers=headers,
        )
        self.live(until=lambda: self.read(name))

    def read(self, name: str, version: int = 1) -> bool:
        return any(each.name == name and each.version == version for each in self.sources)

    @property
    def sources(self) -> list[Source]:
        head = KnowledgeHead.key_of(TENANT)
        page = self.table.query(Query.under(head.pk, Source.PREFIX))
        return list(Source.each_of(page.items))

    @property
    def hours(self) -> Source:
        return next(each for each in self.sources if each.name == "Hours")

    def refresh(self) -> None:
        self.answers(NEW)
        self.clock.advance(timedelta(hours=25).total_seconds())
        self.live(until=lambda: self.read("Hours", 2) and not self.queued)

    def delete(self) -> None:
        self.deleted = self.hours.id
        self.operator.call("DELETE", f"/v1/sources/{self.deleted}")
        self.found_after = self.found()
        self.live()

    def found(self) -> set[str]:
        """The texts that a prompt could show."""
        search = self.app.get(KnowledgeSearch)
        return {each.text for each in search.tried(TENANT, "agt_a", (), "open")}

    def check_stored(self, *texts: str) -> None:
        """Exactly these texts are found, and no file is stored that nothing needs."""
        assert self.found() == set(texts)
        head = KnowledgeHead.read(self.table, KnowledgeHead.key_of(TENANT))
        assert head is not None
        needed = {group.file for group in head.groups}
        for source in self.sources:
            partition = SourceVersion.partition(TENANT, source.id)
            versions = self.table.query(Query(partition)).items
            needed |= {each.text.file for each in SourceVersion.each_of(versions)}
        spare = {*head.building, *head.stale}
        stored = {name for name in self.files.contents if name.startswith("knowledge/")}
        assert needed <= stored <= needed | spare


def check_refreshed(world: Shop) -> None:
    assert world.hours.version == 2
    world.check_stored("We open at ten.", "Parking is free.")


def check_deleted(world: Shop) -> None:
    assert world.found_after == {"Parking is free."}
    world.check_stored("Parking is free.")
    assert [each.name for each in world.sources] == ["Other"]
    assert not world.table.query(Query(SourceVersion.partition(TENANT, world.deleted))).items
    texts = [name for name in world.files.contents if f"/sources/{world.deleted}/" in name]
    assert texts == []


REFRESHED = Sweep(Shop, play=lambda world: world.refresh(), check=check_refreshed)
DELETED = Sweep(Shop, play=lambda world: world.delete(), check=check_deleted)


def test_refreshed_source_has_one_new_version_after_a_death_at_each_call(share: FaultShare) -> None:
    REFRESHED.one_death(share, of=every_death)


def test_deleted_source_leaves_nothing_after_a_death_at_each_call(share: FaultShare) -> None:
    DELETED.one_death(share, of=every_death)
