"""The OpenAPI document as a page of plain HTML, without scripts or external resources."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from routes.document.html import Content, Html, element, inline, join, paragraphs
from routes.document.openapi import ERRORS, METHODS, document

Json = Mapping[str, Any]

STYLE = """
:root { color-scheme: light dark; --line: #c3cbc9; --sunk: #eef1f0; --quiet: #53605e;
  --link: #1f6168; --ground: #ffffff; --text: #1b2625; }
@media (prefers-color-scheme: dark) { :root { --line: #3d4845; --sunk: #232b29; --quiet: #a9b6b3;
  --link: #7fc8cb; --ground: #151a19; --text: #e6ecea; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1rem; background: var(--ground);
  color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
a { color: var(--link); }
a:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
h2 { margin-top: 3rem; border-bottom: 2px solid var(--line); }
h3 { margin: 2.5rem 0 0.25rem; }
h4 { margin: 1rem 0 0.25rem; }
p { margin: 0.5rem 0; }
nav ul { columns: 18rem; padding-left: 1.2rem; }
code, pre { font: 0.9em/1.45 ui-monospace, monospace; background: var(--sunk); border-radius: 3px; }
code { padding: 0.1em 0.25em; }
pre { padding: 0.75rem; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: 0.35rem 0.5rem; text-align: left;
  vertical-align: top; }
@media (max-width: 50rem) { td, th, code { overflow-wrap: anywhere; } }
.quiet { color: var(--quiet); }
.skip { position: absolute; left: -100rem; }
.skip:focus { position: static; }
"""
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{STYLE_HASH}'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
REFERENCE = "#/components/schemas/"
# The page's names for the limits of a value.
LIMITS = {
    "minLength": "at least {:,} characters",
    "maxLength": "at most {:,} characters",
    "minItems": "at least {:,} items",
    "maxItems": "at most {:,} items",
    "maxProperties": "at most {:,} fields",
    "minimum": "at least {:,.12g}",
    "maximum": "at most {:,.12g}",
    "pattern": "pattern `{}`",
    "default": "default `{}`",
}


@cache
def page() -> str:
    """Render the OpenAPI document, once per container."""
    return render(document())


def render(described: Json) -> str:
    """Render an OpenAPI document as a page.

    Args:
        described: The document, with named schemas and shared error responses.
    """
    info, components = described["info"], described["components"]
    title = f"{info['title']} API {info['version']}"
    by_tag = {
        tag["name"]: [each for each in _operations(described) if tag["name"] in each[2]["tags"]]
        for tag in described["tags"]
    }
    head = element(
        "head",
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", title),
        element("style", Html(STYLE)),
    )
    main = element(
        "main",
        *(_tag(tag, by_tag[tag["name"]]) for tag in described["tags"]),
        element("h2", "Errors", id="errors"),
        *(_error(status, components["responses"][name]) for status, name in ERRORS.items()),
        element("h2", "Schemas", id="schemas"),
        *(_schema(name, schema) for name, schema in sorted(components["schemas"].items())),
        id="main",
    )
    body = element(
        "body",
        element("a", "Skip to the operations", href="#main", class_="skip"),
        element(
            "header",
            element("h1", title),
            paragraphs(info["description"]),
            element("p", "The same as a file: ", element("a", "openapi.json", href="openapi.json")),
        ),
        _contents(described["tags"]),
        main,
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _operations(described: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield the method, path and description of each operation."""
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            if method in METHODS:
                yield method, path, operation


def _contents(tags: list[Json]) -> Html:
    links = [(f"#tag-{tag['name']}", tag["name"]) for tag in tags]
    links += [("#errors", "Errors"), ("#schemas", "Schemas")]
    items = (element("li", element("a", text, href=href)) for href, text in links)
    return element("nav", element("ul", *items), aria_label="Contents")


def _tag(tag: Json, operations: list[tuple[str, str, Json]]) -> Html:
    return element(
        "section",
        element("h2", tag["name"], id=f"tag-{tag['name']}"),
        paragraphs(tag["description"]),
        *(_operation(*operation) for operation in operations),
    )


def _operation(method: str, path: str, operation: Json) -> Html:
    needed = [name for scheme in operation["security"] for name in scheme]
    return element(
        "article",
        element("h3", operation["summary"], id=operation["operationId"]),
        element(
            "p",
            element("code", f"{method.upper()} {path}"),
            element("span", f" {_credentials(needed)}", class_="quiet"),
        ),
        paragraphs(operation.get("description", "")),
        _parameters(operation.get("parameters", [])),
        _body(operation.get("requestBody")),
        _responses(operation["responses"]),
    )


def _credentials(needed: list[str]) -> str:
    if not needed:
        return "No token"
    return "Signature" if needed == ["signature"] else f"Scope {', '.join(needed)}"


def _parameters(parameters: list[Json]) -> Html | None:
    if not parameters:
        return None
    rows = (
        (
            element("code", each["name"]),
            each["in"] if not each["required"] else f"{each['in']}, required",
            join(_type(each["schema"]), _limits(each["schema"])),
            inline(each.get("description", "")),
        )
        for each in parameters
    )
    return join(element("h4", "Parameters"), _table(("Name", "In", "Type", "Meaning"), rows))


def _body(body: Json | None) -> Html | None:
    if body is None:
        return None
    return join(
        element("h4", "Body"),
        paragraphs(body.get("description", "")),
        *(_content(media_type, content) for media_type, content in body["content"].items()),
    )


def _responses(responses: Json) -> Html:
    own = [(status, each) for status, each in responses.items() if "$ref" not in each]
    errors = [status for status, each in responses.items() if "$ref" in each]
    links = join(*(element("a", each, href=f"#error-{each}") for each in errors), by=", ")
    return join(
        element("h4", "Responses"),
        *(_response(status, response) for status, response in own),
        element("p", "Errors: ", links) if errors else None,
    )


def _response(status: str, response: Json) -> Html:
    return join(
        element("p", element("strong", status), " ", inline(response["description"])),
        _headers(response),
        *(_content(kind, content) for kind, content in response.get("content", {}).items()),
    )


def _headers(response: Json) -> Html | None:
    if "headers" not in response:
        return None
    rows = (
        (element("code", name), inline(header["description"]))
        for name, header in response["headers"].items()
    )
    return _table(("Header", "Meaning"), rows)


def _content(media_type: str, content: Json) -> Html:
    shown = element("p", _type(content["schema"]), f" as {media_type}")
    if "example" not in content:
        return shown
    example = json.dumps(content["example"], ensure_ascii=False, indent=2)
    return join(shown, element("pre", example, tabindex="0"))


def _error(status: str, response: Json) -> Html:
    return element(
        "section",
        element("h3", f"Error {status}", id=f"error-{status}"),
        paragraphs(response["description"]),
        _headers(response),
        *(_content(media_type, content) for media_type, content in response["content"].items()),
    )


def _schema(name: str, schema: Json) -> Html:
    fields = schema.get("properties")
    required = schema.get("required", ())
    rows = (
        (
            element("code", field),
            "required" if field in required else "optional",
            join(_type(value), _limits(value)),
            inline(value.get("description", "")),
        )
        for field, value in (fields or {}).items()
    )
    return element(
        "section",
        element("h3", name, id=f"schema-{name}"),
        paragraphs(schema.get("description", "")),
        _table(("Field", "Presence", "Type", "Meaning"), rows)
        if fields
        else element("p", _type(schema), _limits(schema)),
    )


def _table(headings: tuple[str, ...], rows: Iterator[tuple[Content, ...]]) -> Html:
    head = element("tr", *(element("th", heading, scope="col") for heading in headings))
    body = (element("tr", *(element("td", cell) for cell in row)) for row in rows)
    return element("table", element("thead", head), element("tbody", *body))


def _type(schema: Json) -> Html:
    """Return the type of a value as HTML. The type of a named schema is a link."""
    match schema:
        case {"$ref": str(reference)}:
            name = reference.removeprefix(REFERENCE)
            shown = element("a", name, href=f"#schema-{name}")
        case {"contentSchema": each, "contentMediaType": _}:
            shown = join("lines, each ", _type(each))
        case {"anyOf": choices} | {"oneOf": choices}:
            shown = join(*(_type(choice) for choice in choices), by=" or ")
        case {"enum": values}:
            shown = join(*(_code(value) for value in values), by=", ")
        case {"const": value}:
            shown = _code(value)
        case {"type": [*kinds]}:
            shown = join(*(_type({**schema, "type": kind}) for kind in kinds), by=" or ")
        case {"type": "array", "items": items}:
            shown = join("list of ", _type(items))
        case {"type": "object", "additionalProperties": {"type": _} as values}:
            shown = join("object of ", _type(values))
        case {"type": str(kind)}:
            kept = schema.get("format") if kind == "string" else None
            shown = join(f"{kind} ({kept})" if kept else kind)
        case _:
            shown = Html("any value")
    return shown


def _code(value: object) -> Html:
    return element("code", json.dumps(value, ensure_ascii=False))


def _limits(schema: Json) -> Html | None:
    """Return the limits of a value in words, if there are any."""
    found = [text.format(schema[key]) for key, text in LIMITS.items() if key in schema]
    if not found:
        return None
    words = re.sub(r"\b1 (character|item|field)s\b", r"1 \1", ", ".join(found))
    return element("span", ", ", inline(words), class_="quiet")
