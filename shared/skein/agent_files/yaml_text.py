"""YAML of agents' files: a subset that holds the values of JSON and nothing else.

Aliases, tags, and names that occur twice are refused. As in YAML 1.2, a value without quotes is a
text unless it is `true`, `false`, `null` or a decimal number: `no`, `0123` and `2026-11-29` are
texts.
"""

import json
import re
from functools import cache
from typing import Any, ClassVar

from skein.errors import Invalid

MAX_FILE_BYTES = 1024 * 1024
MAX_DEPTH = 50
_KINDS = (  # tag, pattern, first characters
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE"), "tTfF"),
    ("null", re.compile(r"~|null|Null|NULL|"), ["~", "n", "N", ""]),
    ("int", re.compile(r"[-+]?(0|[1-9][0-9]*)"), "-+0123456789"),
    (
        "float",
        re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"),
        "-+0123456789",
    ),
)


def parsed(text: str) -> Any:
    """Parse a YAML document into dicts, lists, texts, numbers, booleans and None.

    Raises:
        Invalid: The text is not such a YAML document; the message names the line.
    """
    import yaml  # noqa: PLC0415 - the import takes time; only callers that use files pay

    try:
        _check_events(text)
        return yaml.load(text, Loader=_loader())  # noqa: S506 - a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Invalid(f"the body is not valid YAML: {_place(mark)}{error.problem}") from None
    except (yaml.YAMLError, ValueError):  # characters that YAML forbids; a number of 5,000 digits
        raise Invalid("the body is not valid YAML: a character or a number is invalid") from None


def json_of(text: str) -> str:
    """Return a YAML document as JSON.

    Raises:
        Invalid: See `parsed`.
    """
    try:
        return json.dumps(parsed(text), allow_nan=False)
    except ValueError:
        raise Invalid("the body is not valid YAML: a number is too large") from None


def written(values: Any) -> str:
    """Write values as YAML, with texts of several lines as blocks."""
    import yaml  # noqa: PLC0415 - see `parsed`

    text: str = yaml.dump(
        values, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=100, indent=2
    )
    return text


def _check_events(text: str) -> None:
    """Check that a document has no alias, no tag, and no deep nesting.

    An alias can make a small document expand to any size.

    Raises:
        Invalid: The document has an alias, a tag or too deep nesting.
    """
    import yaml  # noqa: PLC0415 - see `parsed`

    depth = 0
    for event in yaml.parse(text, Loader=_loader()):
        if isinstance(event, yaml.AliasEvent):
            raise Invalid(f"the body: {_place(event.start_mark)}aliases aren't allowed")
        if getattr(event, "tag", None) is not None:
            raise Invalid(f"the body: {_place(event.start_mark)}tags aren't allowed")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise Invalid(f"the body: {_place(event.start_mark)}more than {MAX_DEPTH} levels")


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}: " if mark is not None else ""


@cache
def _loader() -> Any:
    """Return a class that parses YAML: the safe loader, limited to the types of JSON."""
    import yaml  # noqa: PLC0415 - see `parsed`

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
            names = set[str]()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise yaml.constructor.ConstructorError(
                        problem="a name must be a text", problem_mark=key.start_mark
                    )
                if key.value in names:
                    raise yaml.constructor.ConstructorError(
                        problem=f"the name {key.value[:64]!r} occurs twice",
                        problem_mark=key.start_mark,
                    )
                names.add(key.value)
            return super().construct_mapping(node, deep=deep)

    return _with_kinds(Loader)


@cache
def _dumper() -> Any:
    """Return a class that writes YAML; it quotes texts that would be read as another type."""
    import yaml  # noqa: PLC0415 - see `parsed`

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return _with_kinds(Dumper)


def _with_kinds(kind: Any) -> Any:
    for name, pattern, first in _KINDS:
        whole = re.compile(rf"(?:{pattern.pattern})\Z")
        kind.add_implicit_resolver(f"tag:yaml.org,2002:{name}", whole, list(first))
    return kind
