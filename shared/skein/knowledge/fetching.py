"""Read web pages and files as passages: one page, or the pages of a sitemap on its host."""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import unescape
from urllib.parse import urlsplit

from skein.errors import MediaRefused, Rejected, SkeinError, Unprocessable
from skein.knowledge.index import Validators
from skein.knowledge.models.source import MAX_FILE_BYTES
from skein.knowledge.passages import SourcePassage, passages_of_markdown, passages_of_rows
from skein.models.common.http import HttpAnswer, HttpRequest
from skein.ports import Clock, DocumentFormat, MediaReader, OutboundHttp

MAX_PAGES = 200
PAGE_SECONDS = 10.0
OK, UNCHANGED = 200, 304
LOCATION = re.compile(rb"<loc>\s*(.*?)\s*</loc>", re.DOTALL)
BEGINNING = 1_000  # bytes in which a format shows itself
CONTROLS = frozenset(map(chr, range(32))) - set("\t\n\r\f\x1b")
FORMATS: Mapping[str, DocumentFormat] = {"pdf": "pdf", "docx": "docx", "html": "html"}
REFUSED = {
    "too_large": "has more text than Skein reads",
    "unreadable": "is damaged or too complex to read",
    "type_refused": "is not a text, Markdown, HTML, CSV, PDF or DOCX file",
}

ReadPages = tuple[Sequence[SourcePassage], Validators]
"""The passages of all pages, and the validators of each page; see `source_file`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetcher:
    """The service that reads files and web pages.

    Args:
        reader: Returns the libraries that read documents. They are large, so they are loaded late.
        http: Returns the client for web pages.
    """

    clock: Clock
    reader: Callable[[], MediaReader]
    http: Callable[[], OutboundHttp]

    def file(self, content: bytes, name: str) -> list[SourcePassage]:
        """Return the passages of a file.

        Args:
            name: The name of the file. Its ending tells a CSV file from other texts.

        Raises:
            Unprocessable: The file is empty, encrypted, scanned or binary.
        """
        kind = "csv" if name.endswith(".csv") else ""
        return self._passages("upload_id: the file", content, kind)

    def pages(
        self, url: str, known: Sequence[SourcePassage], validators: Validators, *, until: datetime
    ) -> ReadPages:
        """Read a page, or the pages of a sitemap.

        Args:
            known: The passages as last read. If a page has not changed, its passages are kept.
            validators: The HTTP validators (`ETag`, `Last-Modified`) of the pages as last read.
            until: When to give up.

        Raises:
            Unprocessable: A page could not be read; the message says why.
        """
        answer = self._asked(url, validators)
        if answer.status == UNCHANGED:
            return known, validators
        if not _is_sitemap(answer.body):
            return self._page(url, answer), {url: _validators(answer)}
        read, now = list[SourcePassage](), dict[str, Sequence[str]]()
        for page in pages_of_sitemap(answer.body, url):
            if self.clock.now() >= until:
                raise Unprocessable("url: its pages took too long to read")
            answer = self._asked(page, validators)
            same = answer.status == UNCHANGED
            now[page] = validators[page] if same else _validators(answer)
            read += (
                [each for each in known if each.url == page] if same else self._page(page, answer)
            )
        return read, now

    def _page(self, url: str, answer: HttpAnswer) -> list[SourcePassage]:
        return self._passages(f"url: {url}", answer.body, answer.content_type, url)

    def _asked(self, url: str, validators: Validators) -> HttpAnswer:
        etag, modified = validators.get(url, ("", ""))
        headers = {"User-Agent": "Skein", "Accept": "text/html, text/*, application/pdf, */*;q=0.1"}
        headers |= {"If-None-Match": etag} if etag else {}
        headers |= {"If-Modified-Since": modified} if modified else {}
        try:
            request = HttpRequest(method="GET", url=url, headers=headers)
            answer = self.http().send(request, seconds=PAGE_SECONDS)
        except Rejected:
            raise
        except SkeinError as error:
            raise Unprocessable(f"url: {url}: {error}") from None
        if answer.status not in {OK, UNCHANGED}:
            raise Unprocessable(f"url: {url} answers with the status {answer.status}")
        if len(answer.body) > MAX_FILE_BYTES:
            raise Unprocessable(f"url: {url} has more than {MAX_FILE_BYTES:,} bytes")
        return answer

    def _passages(
        self, named: str, content: bytes, content_type: str, url: str | None = None
    ) -> list[SourcePassage]:
        kind = _kind_of(content, content_type)
        try:
            text = (
                self.reader().text(content, FORMATS[kind])
                if kind in FORMATS
                else content.decode("utf-8-sig")
            )
            made = passages_of_rows(text) if kind == "csv" else passages_of_markdown(text, url)
        except MediaRefused as refused:
            raise Unprocessable(f"{named} {REFUSED[refused.reason]}") from None
        except UnicodeDecodeError:
            raise Unprocessable(f"{named} is binary, or its text is not in UTF-8") from None
        except csv.Error as error:
            raise Unprocessable(f"{named} is not a CSV file: {error}") from None
        if not CONTROLS.isdisjoint(text):
            raise Unprocessable(f"{named} is binary")
        if not made:
            why = ": it is encrypted or scanned" if kind == "pdf" else ""
            raise Unprocessable(f"{named} has no text{why}")
        return made


def pages_of_sitemap(content: bytes, url: str) -> list[str]:
    """Return the pages of a sitemap that are on the sitemap's own host, at most 200.

    Raises:
        Unprocessable: The sitemap lists other sitemaps, or no page of its host.
    """
    if b"<sitemapindex" in content[:BEGINNING]:
        raise Unprocessable("url: it lists other sitemaps; name one of them")
    found = (unescape(each.decode(errors="replace")) for each in LOCATION.findall(content))
    own = [each for each in found if _origin(each) == _origin(url)]
    if not own:
        raise Unprocessable("url: the sitemap lists no page of its own host")
    return list(dict.fromkeys(own))[:MAX_PAGES]


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def _is_sitemap(content: bytes) -> bool:
    begin = content[:BEGINNING]
    return b"<urlset" in begin or b"<sitemapindex" in begin


def _validators(answer: HttpAnswer) -> tuple[str, str]:
    return answer.etag, answer.last_modified


def _kind_of(content: bytes, content_type: str) -> str:
    """Return the format of a file, judged by its first bytes or, for a text, by its media type."""
    begin = content[:BEGINNING].lstrip().lower()
    if begin.startswith(b"%pdf-"):
        return "pdf"
    if content.startswith(b"PK\x03\x04"):
        return "docx"
    if "html" in content_type or begin.startswith((b"<!doctype html", b"<html")):
        return "html"
    return "csv" if "csv" in content_type else "text"
