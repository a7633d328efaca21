"""Generates the calls of our clients, grouped by subject, from the OpenAPI document.

`make client-types` writes the calls. A call's name is that of the operation without the subject:
the operation `create_agent` becomes `client.agents.create`.
"""

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tools import sync_client

PYTHON = sync_client.PACKAGE / "async_calls.py"
TYPESCRIPT = sync_client.ROOT / "clients" / "typescript" / "src" / "calls.ts"
SUBJECTS = ("agents", "approvals", "desk", "lines", "plans", "tools", "users")
# People list the agents to whom they may write; operators list all.
NAMES = {"list_directory": "list", "list_agents": "list_all"}
PAGING = frozenset({"limit", "cursor"})
TYPES = {"string": "str", "integer": "int", "boolean": "bool"}
JSON = "application/json"

PYTHON_HEAD = '''"""Calls of the HTTP API by subject, most of them for operators."""

# Generated from the OpenAPI document by `make client-types`.

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, cast

from skein_client.api_types import {types}
from skein_client.paths import path

if TYPE_CHECKING:
    from skein_client.async_client import AsyncClient
'''
TYPESCRIPT_HEAD = """// Calls of the HTTP API by subject, most of them for operators.
// Generated from the OpenAPI document by `make client-types`.
import type { Client, Page } from "./client.js";
import type { components, operations } from "./schema.js";

type Schemas = components["schemas"];
type Query<O extends keyof operations> = Omit<
  NonNullable<operations[O]["parameters"]["query"]>,
  "limit" | "cursor"
>;

function path(parts: TemplateStringsArray, ...values: (string | number)[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}
"""


@dataclass(frozen=True)
class Call:
    """A call of the API.

    Attributes:
        subject: The tag of the operation in the document.
        operation: The id of the operation in the document.
        method: The HTTP method.
        path: The path, with parameters in braces.
        summary: The summary of the operation.
        parameters: The types of the path's parameters, by name and in the path's order.
        query: The types of the query parameters, by name, except those for paging.
        body: The schema of the request's body; None if there is no body.
        result: The schema of the response or, for a list, of each item; None for no content.
        is_list: Whether the response is a list.
        is_paged: Whether the list is returned in pages.
    """

    subject: str
    operation: str
    method: str
    path: str
    summary: str
    parameters: Mapping[str, str]
    query: Mapping[str, str]
    body: str | None
    result: str | None
    is_list: bool
    is_paged: bool

    @classmethod
    def of(cls, document: Mapping[str, Any], path: str, method: str) -> Self:
        """Return a call as the document describes it."""
        operation = document["paths"][path][method]
        found = {(each["in"], each["name"]): each for each in operation.get("parameters", [])}
        query = {name: _type(each) for (kind, name), each in found.items() if kind == "query"}
        answers = [_schema(each) for code, each in operation["responses"].items() if code < "3"]
        answer = answers[-1]
        page = document["components"]["schemas"].get(answer, {}).get("properties", {})
        is_list = {"items", "next_cursor"} == set(page)
        return cls(
            subject=operation["tags"][0],
            operation=operation["operationId"],
            method=method.upper(),
            path=path,
            summary=operation["summary"],
            parameters={name: _type(found["path", name]) for name in re.findall(r"{(\w+)}", path)},
            query={name: kind for name, kind in query.items() if name not in PAGING},
            body=_schema(operation.get("requestBody", {})),
            result=_name(page["items"]["items"]) if is_list else answer,
            is_list=is_list,
            is_paged=is_list and "cursor" in query,
        )

    @property
    def name(self) -> str:
        """The call's name in Python.

        It is the operation's whole id if the short name is a Python keyword.
        """
        subjects = {self.subject, self.subject.removesuffix("s")}
        words = [word for word in self.operation.split("_") if word not in subjects]
        short = "_".join(words)
        return NAMES.get(self.operation, self.operation if keyword.iskeyword(short) else short)


def _schema(content: Mapping[str, Any]) -> str | None:
    found = content.get("content", {}).get(JSON)
    return _name(found["schema"]) if found else None


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _type(parameter: Mapping[str, Any]) -> str:
    """Return the type of a parameter: a Python type, or the name of a schema."""
    schema = parameter["schema"]
    [schema, *_] = schema.get("anyOf", [schema])
    if "$ref" in schema:
        return _name(schema)
    kinds = schema["type"]
    return TYPES[kinds[0] if isinstance(kinds, list) else kinds]


def calls(document: Mapping[str, Any]) -> Iterator[Call]:
    """Yield the calls of all subjects, sorted by subject and name."""
    described = [
        Call.of(document, path, method)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if operation["tags"][0] in SUBJECTS and _has_json(operation)
    ]
    yield from sorted(described, key=lambda call: (call.subject, call.name))


def _has_json(operation: Mapping[str, Any]) -> bool:
    """Return whether the response of an operation is JSON, or empty."""
    answers = [each for code, each in operation["responses"].items() if code < "3"]
    return all(JSON in each.get("content", {JSON: None}) for each in answers)


def python_text(document: Mapping[str, Any]) -> str:
    """Return the Python source of the async calls."""
    found = list(calls(document))
    types = {kind for call in found for kind in _types(call)}
    parts = [PYTHON_HEAD.format(types=f"({', '.join(sorted(types))})")]
    for subject in SUBJECTS:
        parts.append(
            f"class Async{subject.capitalize()}:\n"
            f'    """{_about(document, subject)} (`client.{subject}`)."""\n\n'
            '    def __init__(self, client: "AsyncClient") -> None:\n'
            "        self._client = client\n"
        )
        parts += [_python(call) for call in found if call.subject == subject]
    return sync_client.formatted("\n\n".join(parts))


def _types(call: Call) -> Iterator[str]:
    for kind in (*call.parameters.values(), *call.query.values(), call.body, call.result):
        if kind is not None and kind not in TYPES.values():
            yield kind


def _about(document: Mapping[str, Any], subject: str) -> str:
    [text] = [tag["description"] for tag in document["tags"] if tag["name"] == subject]
    return str(text).removesuffix(".")


def _python(call: Call) -> str:
    given = [f"{name}: {kind}" for name, kind in call.parameters.items()]
    if call.body is not None:
        given.append(f"body: {call.body}")
    if call.query:
        given += ["*", *(f"{name}: {kind} | None = None" for name, kind in call.query.items())]
    pairs = ", ".join(f'"{name}": {name}' for name in call.query)
    query = f", {{{pairs}}}" if pairs else ""
    place = f'"{call.path}"'
    if call.parameters:
        template = re.sub(r"{\w+}", "{}", call.path)
        place = f'path("{template}", {", ".join(call.parameters)})'
    head = f"def {call.name}({', '.join(['self', *given])})"
    about = f'"""{call.summary}."""'
    if call.is_paged:
        items = f"self._client.items({place}{query})"
        return _method(f"{head} -> AsyncIterator[{call.result}]", about, f"return {items}")
    sent = f'"{call.method}", {place}'
    sent += f", {call.body and 'body'}" if call.body or query else ""
    awaited = f"await self._client.call({sent}{query})"
    if call.is_list:
        body = f'found = {awaited}\nreturn cast("Sequence[{call.result}]", found["items"])'
        return _method(f"async {head} -> Sequence[{call.result}]", about, body)
    if call.result is None:
        return _method(f"async {head} -> None", about, awaited)
    body = f'return cast("{call.result}", {awaited})'
    return _method(f"async {head} -> {call.result}", about, body)


def _method(head: str, about: str, body: str) -> str:
    lines = (f"{head}:", f"    {about}", *(f"    {line}" for line in body.splitlines()))
    return "".join(f"    {line}\n" for line in lines)


def typescript_text(document: Mapping[str, Any]) -> str:
    """Return the TypeScript source of the calls."""
    found = list(calls(document))
    parts = [TYPESCRIPT_HEAD]
    for subject in SUBJECTS:
        methods = "\n".join(_typescript(call) for call in found if call.subject == subject)
        parts.append(
            f"/** {_about(document, subject)} (`client.{subject}`). */\n"
            f"export class {subject.capitalize()} {{\n"
            f"  constructor(private readonly client: Client) {{}}\n\n{methods}}}\n"
        )
    return "\n".join(parts)


def _typescript(call: Call) -> str:
    kinds = {"str": "string", "int": "number", "bool": "boolean"}
    given = [
        f"{_camel(name)}: " + (kinds.get(kind) or f'Schemas["{kind}"]')
        for name, kind in call.parameters.items()
    ]
    if call.body is not None:
        given.append(f'body: Schemas["{call.body}"]')
    if call.query:
        given.append(f'query: Query<"{call.operation}"> = {{}}')
    place = f'"{call.path}"'
    if call.parameters:
        filled = re.sub(r"{(\w+)}", lambda found: f"${{{_camel(found[1])}}}", call.path)
        place = f"path`{filled}`"
    query = ", query" if call.query else ""
    result = f'Schemas["{call.result}"]' if call.result else "void"
    if call.is_paged:
        kind, body = f"AsyncGenerator<{result}>", f"return this.client.items({place}{query});"
    else:
        sent = f'"{call.method}", {place}'
        sent += f", {'body' if call.body else 'undefined'}" if call.body or query else ""
        kind, body = f"Promise<{result}>", f"return this.client.call({sent}{query});"
        if call.is_list:
            kind = f"Promise<{result}[]>"
            body = f"return (await this.client.call<Page<{result}>>({sent}{query})).items;"
    head = "async " if call.is_list and not call.is_paged else ""
    parameters = ", ".join(given)
    return (
        f"  /** {call.summary}. */\n"
        f"  {head}{_camel(call.name)}({parameters}): {kind} {{\n    {body}\n  }}\n"
    )


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def texts(document: Mapping[str, Any]) -> dict[Path, str]:
    """Return the generated sources, by the file to which they are written."""
    return {PYTHON: python_text(document), TYPESCRIPT: typescript_text(document)}
