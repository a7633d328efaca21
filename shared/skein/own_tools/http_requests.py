"""Requests of tools: arguments in the path, the query or the body, and answers as text."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from skein.errors import Correctable, Failed, Unprocessable
from skein.models.common.http import HttpAnswer, HttpRequest
from skein.own_tools.models.tool import PLACEHOLDER, HttpCall
from skein.settings import Settings

BODYLESS = frozenset({"GET"})
READABLE = ("application/json", "text/")
DOTS = frozenset({".", ".."})  # they would move up in the path, and encoding them does not help


def check_address(url: str, field: str, settings: Settings) -> None:
    """Check that the deployment may call an address that an operator provides.

    Args:
        field: The name of the field, for the error.

    Raises:
        Unprocessable: The address is not allowed.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not settings.local:
        raise Unprocessable(f"{field}: it must begin with https")
    if settings.tool_hosts and parts.hostname not in settings.tool_hosts:
        raise Unprocessable(f"{field}: this deployment doesn't allow calls to this host")


def request_of(call: HttpCall, arguments: Mapping[str, Any]) -> HttpRequest:
    """Return the request of a call, with its arguments sorted by name.

    The model's own order is not sent, because it could encode information for the service.

    Raises:
        Correctable: An argument cannot be used in the URL.
    """
    url = PLACEHOLDER.sub(lambda match: _in_url(match[1], arguments), call.url)
    others = {name: each for name, each in sorted(arguments.items()) if name not in call.in_url}
    headers = {"Accept": "application/json, text/plain;q=0.9", **call.headers}
    if call.method in BODYLESS:
        query = urlencode({name: _plain(value) for name, value in others.items()}, doseq=True)
        glue = "&" if urlsplit(url).query else "?"
        return HttpRequest(
            method=call.method, url=url + (glue + query if query else ""), headers=headers
        )
    body = json.dumps(others, ensure_ascii=False).encode()
    headers["Content-Type"] = "application/json"
    return HttpRequest(method=call.method, url=url, headers=headers, body=body)


def text_of(answer: HttpAnswer) -> str:
    """Return the text of an answer.

    Raises:
        Failed: The answer is neither JSON nor text.
    """
    kind = answer.content_type.partition(";")[0].strip().casefold()
    readable = kind.startswith(READABLE) or kind.endswith("+json") or not answer.body
    if not readable:
        raise Failed("the service answered with something that is neither JSON nor text")
    return answer.body.decode(errors="replace")


def _in_url(name: str, arguments: Mapping[str, Any]) -> str:
    value = str(_plain(arguments.get(name, "")))
    if not value or value in DOTS:
        raise Correctable(f"{name}: this value cannot stand in the address of the service")
    return quote(value, safe="")


def _plain(value: Any) -> Any:
    """Return a value as text for a URL; booleans and objects are written as JSON."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, bool | dict):
        return json.dumps(value)
    return value
