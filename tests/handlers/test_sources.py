"""Sources of knowledge over the API: what is read, refused, refreshed, restored and deleted."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

import admin_api
from skein.errors import Redirected, Unavailable
from skein.knowledge.models.source import MAX_SOURCES, KnowledgeHead, Source, SourceVersion
from skein.models.common.http import HttpAnswer, HttpRequest
from skein.models.common.storage import Query
from tests.support.api_client import Answer, Client
from tests.support.builders import TENANT, World
from tests.support.pictures import document

URL = "https://shop.example/hours"
HOURS = (
    b"<html><head><title>Hours</title></head><body><nav>Home Shop</nav><main><h1>Hours</h1>"
    b"<p>The shop opens at nine and closes at noon. On Sundays, it stays closed all day long.</p>"
    b"<script>alert(1)</script></main><footer>Imprint</footer></body></html>"
)
SITEMAP = (
    b'<?xml version="1.0"?><urlset><url><loc>https://shop.example/a</loc></url><url>'
    b"<loc>https://shop.example/b</loc></url><url><loc>https://other.example/c</loc></url></urlset>"
)


class Shop(World):
    """An operator of a shop, whose web pages are `pages`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agent()
        self.agent("agt_b", "Helper")
        self.owner = Client(self, admin_api, sub="usr_op", scope="owner support")
        self.pages: dict[str, HttpAnswer] = {URL: page(HOURS)}
        self.service.answer = self._answer

    def _answer(self, request: HttpRequest) -> HttpAnswer:
        found = self.pages.get(request.url, HttpAnswer(status=404))
        if found.etag and request.headers.get("If-None-Match") == found.etag:
            return HttpAnswer(status=304, etag=found.etag)
        return found

    def create(self, **given: Any) -> Mapping[str, Any]:
        made = self.owner.call("POST", "/v1/sources", {"name": "Hours"} | given)
        assert made.status == 201, made.body
        self.drain()
        return self.get(made.body["id"])

    def get(self, source_id: str) -> Mapping[str, Any]:
        body: Mapping[str, Any] = self.owner.get(f"/v1/sources/{source_id}").body
        return body

    def post(self, path: str, body: Any = None) -> Answer:  # type: ignore[override]
        answer = self.owner.call("POST", f"/v1/sources/{path}", body or {})
        self.drain()
        return answer

    def change(self, source_id: str, **given: Any) -> Answer:
        answer = self.owner.call("PATCH", f"/v1/sources/{source_id}", given)
        self.drain()
        return answer

    def upload(self, content: bytes, kind: str) -> str:
        """Upload a file, and return its id."""
        checksum = hashlib.sha256(content).hexdigest()
        body = {"type": kind, "bytes": len(content), "sha256": checksum}
        begun = self.owner.call("POST", "/v1/sources/uploads", body)
        assert begun.status == 200, begun.body
        upload_id: str = begun.body["id"]
        self.files.put(f"incoming/{TENANT}/sources/{upload_id.replace('.', '%2E')}", content, kind)
        return upload_id

    def uploaded(self, content: bytes, kind: str, **given: Any) -> Mapping[str, Any]:
        return self.create(upload_id=self.upload(content, kind), **given)

    def found(self, query: str, *roles: str, agent: str = "agt_a") -> list[str]:
        body = {"query": query, "agent_id": agent, "roles": list(roles)}
        answer = self.owner.call("POST", "/v1/sources/search", body)
        assert answer.status == 200, answer.body
        return [each["text"] for each in answer.body["items"]]

    def time_passes(self, **time: float) -> None:
        self.clock.advance(timedelta(**time).total_seconds())
        self.tick()
        self.drain()

    @property
    def stored(self) -> list[str]:
        """The names of the files in the bucket."""
        return sorted(self.files.contents)


def page(content: bytes, *, kind: str = "text/html", etag: str = "") -> HttpAnswer:
    return HttpAnswer(status=200, content_type=kind, body=content, etag=etag)


def docx(*blocks: str) -> bytes:
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        xml = f"<w:document {word}><w:body>{''.join(blocks)}</w:body></w:document>"
        archive.writestr("word/document.xml", xml)
    return packed.getvalue()


def paragraph(text: str, style: str = "") -> str:
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{styled}<w:r><w:t>{text}</w:t></w:r></w:p>"


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_text_is_found_by_its_words_and_by_its_meaning_under_its_headings(shop: Shop) -> None:
    text = "# Shop\n## Hours\nWe open at nine.\n## Returns\nYou get your money back in 30 days."
    source = shop.create(text=text)
    assert (source["state"], source["version"], source["text"]["passages"]) == ("ready", 1, 2)
    assert shop.found("When do you open?")[0] == "We open at nine."
    assert shop.found("refund policy")[0] == "You get your money back in 30 days."
    shown = shop.owner.get(f"/v1/sources/{source['id']}/versions/1/text").body["text"]
    assert "[Shop > Returns]\nYou get" in shown


def test_web_page_is_read_from_its_main_part(shop: Shop) -> None:
    source = shop.create(url=URL)
    text = shop.owner.get(f"/v1/sources/{source['id']}/versions/1/text").body["text"]
    assert "opens at nine" in text
    assert not {word for word in ("Imprint", "alert", "Home") if word in text}


def test_pdf_is_read_page_by_page(shop: Shop) -> None:
    content = document("We open at nine.", "Parking is free.")
    source = shop.uploaded(content, "application/pdf")
    text = shop.owner.get(f"/v1/sources/{source['id']}/versions/1/text").body["text"]
    assert text == "[page 1]\nWe open at nine.\n\n[page 2]\nParking is free."
    assert shop.found("Where can I park?")[0] == "Parking is free."


def test_csv_row_is_a_passage_with_the_names_of_its_columns(shop: Shop) -> None:
    shop.uploaded(b"dish;price\nSoup;4\nPizza;9\n", "text/csv")
    assert shop.found("pizza")[0] == "dish: Pizza\nprice: 9"


def test_word_document_is_read_with_its_headings_and_tables(shop: Shop) -> None:
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    table = f"<w:tbl><w:tr>{cell.format('Soup')}{cell.format('4')}</w:tr></w:tbl>"
    content = docx(paragraph("Prices", "Heading1"), paragraph("All in euros."), table)
    source = shop.uploaded(content, "application/zip")
    text = shop.owner.get(f"/v1/sources/{source['id']}/versions/1/text").body["text"]
    assert text == "[Prices]\nAll in euros.\n\nSoup | 4"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"  \n", "has no text"),
        (b"\x00\x01binary", "is binary"),
        (b"\xff\xfe\xfa", "is binary, or its text is not in UTF-8"),
        (b"PK\x03\x04no zip", "is damaged or too complex to read"),
        (b"%PDF-1.4 damaged", "is damaged or too complex to read"),
        (docx(), "has no text"),
        (document(""), "has no text: it is encrypted or scanned"),
        (document("Open at nine", encrypted=True), "has no text: it is encrypted or scanned"),
    ],
)
def test_file_without_text_is_refused_with_a_sentence(shop: Shop, content: bytes, why: str) -> None:
    source = shop.uploaded(content, "text/plain")
    assert (source["state"], source["error"]) == ("failed", f"upload_id: the file {why}")
    shop.create(name="Other", text="Another source is not affected.")
    assert shop.found("other source") == ["Another source is not affected."]


def test_refused_request_names_the_field(shop: Shop) -> None:
    for body, part in (
        ({"name": "A"}, "one of url, upload_id and text"),
        ({"name": "A", "text": " "}, "text"),
        ({"name": "A", "upload_id": "up_1.file"}, "upload_id: no such file"),
        ({"name": "A", "text": "x", "audience": "roles"}, "they belong to the audience"),
    ):
        answer = shop.owner.call("POST", "/v1/sources", body)
        assert answer.status == 422, body
        assert part in str(answer.body), answer.body
    large = {"type": "text/plain", "bytes": 2_000_001, "sha256": "0" * 64}
    assert shop.owner.call("POST", "/v1/sources/uploads", large).status == 422


def test_support_reads_and_owner_writes(shop: Shop) -> None:
    source = shop.create(text="We open at nine.")
    support = Client(shop, admin_api, sub="usr_s", scope="support")
    assert support.get("/v1/sources").status == 200
    assert support.call("DELETE", f"/v1/sources/{source['id']}").status == 403
    body = {"query": "hours", "agent_id": "agt_a"}
    assert support.call("POST", "/v1/sources/search", body).status == 200


def test_unchanged_page_makes_no_version(shop: Shop) -> None:
    shop.pages[URL] = page(HOURS, etag='"1"')
    source = shop.create(url=URL)
    shop.time_passes(hours=25)
    assert shop.service.requests[-1].headers["If-None-Match"] == '"1"'
    again = shop.get(source["id"])
    assert (again["version"], again["state"]) == (1, "ready")
    assert again["checked_at"] > source["checked_at"]


def test_changed_page_is_a_new_version_and_the_old_words_are_gone(shop: Shop) -> None:
    source = shop.create(url=URL)
    shop.pages[URL] = page(HOURS.replace(b"nine", b"ten"))
    shop.time_passes(hours=25)
    assert shop.get(source["id"])["version"] == 2
    assert [text for text in shop.found("When does it open?") if "nine" in text] == []
    assert "opens at ten" in shop.found("When does it open?")[0]


def test_short_text_is_held_until_an_operator_accepts_it(shop: Shop) -> None:
    source = shop.create(url=URL)
    shop.pages[URL] = page(b"<p>Closed.</p>")
    shop.time_passes(hours=25)
    held = shop.get(source["id"])
    assert (held["state"], held["version"], held["held"]["characters"]) == ("held", 1, 7)
    assert "opens at nine" in shop.found("open")[0]
    shown = shop.owner.get(f"/v1/sources/{source['id']}/versions/0/text").body["text"]
    assert shown == "Closed."
    assert shop.post(f"{source['id']}/versions/0/restore").body["version"] == 2
    assert shop.found("open") == ["Closed."]
    assert shop.post(f"{source['id']}/versions/0/restore").status == 404


@pytest.mark.parametrize(
    "failing",
    [HttpAnswer(status=500), page(b""), page(b"\x00", kind="text/plain"), Redirected("elsewhere")],
)
def test_failed_refresh_keeps_the_text_and_tells_operators_after_three(
    shop: Shop, failing: HttpAnswer | Redirected
) -> None:
    source = shop.create(url=URL)
    if isinstance(failing, HttpAnswer):
        shop.pages[URL] = failing
    for number in range(1, 5):
        if isinstance(failing, Redirected):
            shop.service.errors = [failing]
        shop.time_passes(hours=25)
        held = shop.get(source["id"])
        assert (held["state"], held["version"], held["failures"]) == ("held", 1, number)
        assert shop.metrics.counts["SourcesFailing"] == int(number >= 3)
    assert "opens at nine" in shop.found("open")[0]
    shop.pages[URL] = page(HOURS)
    shop.service.errors = []
    shop.time_passes(hours=25)
    ready = shop.get(source["id"])
    assert (ready["state"], ready["failures"], ready["error"]) == ("ready", 0, None)


def test_sitemap_is_read_on_its_own_host_and_unchanged_pages_are_kept(shop: Shop) -> None:
    origin = "https://shop.example"
    shop.pages |= {
        f"{origin}/sitemap.xml": page(SITEMAP, kind="application/xml"),
        f"{origin}/a": page(b"<p>Parking is free for guests of the shop.</p>", etag='"a"'),
        f"{origin}/b": page(b"<p>Dogs may come in on a lead at any time.</p>"),
    }
    source = shop.create(url=f"{origin}/sitemap.xml")
    assert source["text"]["passages"] == 2
    asked = [request.url for request in shop.service.requests]
    assert not [url for url in asked if "other.example" in url]
    shop.pages[f"{origin}/b"] = page(b"<p>Dogs may not come in, not even on a lead.</p>")
    assert shop.post(f"{source['id']}/refresh").status == 202
    assert "Parking is free for guests of the shop." in shop.found("free parking")
    assert shop.found("dogs")[0] == "Dogs may not come in, not even on a lead."
    del shop.pages[f"{origin}/b"]
    shop.post(f"{source['id']}/refresh")
    assert "/b answers with the status 404" in shop.get(source["id"])["error"]


def test_version_is_restored_with_its_text_and_its_fields(shop: Shop) -> None:
    source = shop.create(text="We open at nine.")
    shop.change(source["id"], text="We open at ten.", name="New hours")
    assert shop.found("open") == ["We open at ten."]
    restored = shop.post(f"{source['id']}/versions/1/restore").body
    assert restored["name"] == "Hours"
    assert shop.found("open") == ["We open at nine."]
    assert shop.post(f"{source['id']}/versions/1/restore").body["version"] == restored["version"]


def test_ten_versions_are_kept_and_no_file_of_older_ones(shop: Shop) -> None:
    source = shop.create(text="We open at hour 0.")
    for hour in range(1, 13):
        assert shop.change(source["id"], text=f"We open at hour {hour}.").status == 200
    versions = shop.owner.get(f"/v1/sources/{source['id']}/versions").body["items"]
    assert len(versions) == 10
    items = shop.table.query(Query(SourceVersion.partition(TENANT, source["id"]))).items
    texts = {each.text.file for each in SourceVersion.each_of(items)}
    assert texts == {name for name in shop.stored if f"/{source['id']}/" in name}
    assert len([name for name in shop.stored if "/index/" in name]) == 1


def test_deleted_source_is_found_by_no_search_and_leaves_no_file(shop: Shop) -> None:
    source = shop.create(text="The secret word is xylophone.")
    shop.create(name="Other", text="We open at nine.")
    path = f"/v1/sources/{source['id']}"
    assert shop.owner.call("DELETE", path).status == 204
    assert shop.found("xylophone") == ["We open at nine."]
    assert shop.owner.get(path).status == 404
    shop.drain()
    assert not [name for name in shop.stored if source["id"] in name]
    assert not [one for one in shop.files.contents.values() if b"xylophone" in one]
    assert shop.table.get(Source.key_of(TENANT, source["id"])) is None
    assert [each["name"] for each in shop.owner.get("/v1/sources").body["items"]] == ["Other"]


def test_change_moves_a_source_between_audiences_at_once(shop: Shop) -> None:
    source = shop.create(text="Staff get ten percent off.")
    shop.change(source["id"], audience="roles", roles=["staff"])
    assert shop.found("staff discount") == []
    assert shop.found("staff discount", "staff") == ["Staff get ten percent off."]
    shop.change(source["id"], audience="everyone", roles=[], agents=["agt_b"])
    assert shop.found("staff discount") == []
    assert shop.found("staff discount", agent="agt_b") == ["Staff get ten percent off."]
    shop.change(source["id"], enabled=False)
    assert shop.found("staff discount", agent="agt_b") == []
    assert [name for name in shop.stored if "/index/" in name] == []


def test_hidden_source_changes_no_score_of_others(shop: Shop) -> None:
    shop.create(text="We open at nine.")
    body = {"query": "When do you open?", "agent_id": "agt_a"}
    before = shop.owner.call("POST", "/v1/sources/search", body).body
    text = "open open open. " * 30
    shop.create(name="Secret", text=text, audience="roles", roles=["staff"])
    assert shop.owner.call("POST", "/v1/sources/search", body).body == before


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [("MAX_PASSAGES", 2, "at most 2 passages"), ("MAX_CHARACTERS", 20, "20 characters")],
)
def test_too_much_text_is_refused_and_the_rest_stays(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, said: str
) -> None:
    shop.create(text="We open at nine.")
    monkeypatch.setattr(f"skein.knowledge.publishing.{limit}", most)
    source = shop.create(name="Long", text="# A\none\n# B\ntwo")
    assert source["state"] == "failed"
    assert said in source["error"]
    assert shop.found("open") == ["We open at nine."]


def test_source_beyond_the_limit_of_a_tenant_is_refused(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_SOURCES == 200
    monkeypatch.setattr("skein.knowledge.records.MAX_SOURCES", 10)
    for n in range(10):
        shop.owner.call("POST", "/v1/sources", {"name": f"Page {n}", "text": "We open at nine."})
    refused = shop.owner.call("POST", "/v1/sources", {"name": "One more", "text": "Closed."})
    assert refused.status == 409
    assert "at most 10 sources" in refused.body["detail"]


def test_failed_bucket_is_tried_again(shop: Shop) -> None:
    made = shop.owner.call("POST", "/v1/sources", {"name": "Hours", "url": URL})
    shop.files.failing = Unavailable("no bucket")
    with pytest.raises(Unavailable):
        shop.drain()
    shop.files.failing = None
    shop.time_passes(minutes=2)
    assert shop.get(made.body["id"])["state"] == "ready"


def test_refresh_does_not_overwrite_what_an_operator_changed_meanwhile(shop: Shop) -> None:
    source = shop.create(url=URL)

    def answer(request: HttpRequest) -> HttpAnswer:
        shop.service.answer = shop._answer
        shop.owner.call("PATCH", f"/v1/sources/{source['id']}", {"name": "Opening hours"})
        return page(HOURS.replace(b"nine", b"ten"))

    shop.service.answer = answer
    shop.post(f"{source['id']}/refresh")
    assert shop.get(source["id"])["name"] == "Opening hours"
    assert "opens at nine" in shop.found("open")[0]


def test_head_names_nothing_that_is_not_stored(shop: Shop) -> None:
    for name in ("A", "B"):
        shop.create(name=name, text=f"Text of {name}.")
    head = KnowledgeHead.read(shop.table, KnowledgeHead.key_of(TENANT))
    assert head is not None
    assert {group.file for group in head.groups} == {n for n in shop.stored if "/index/" in n}
    assert (head.building, head.stale) == ((), ())
