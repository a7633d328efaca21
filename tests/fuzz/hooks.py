"""What schemathesis needs to know: where things are that its calls may name.

Left to itself it makes ids up, nearly all of which lead nowhere. Half of its valid requests get
real ones, of the same tables that the matrix of access uses.
"""

import os
import zlib
from functools import cache
from typing import Any

import schemathesis
from schemathesis.core.media_types import YAML_MEDIA_TYPES

from tests.matrix.calls import PATHS
from tests.matrix.tenant_data import Neighbours


@cache
def own() -> dict[str, str]:
    """The ids of one tenant, by kind; made at the first request, not when tests are collected."""
    return dict(Neighbours().ours.own)


@schemathesis.deserializer(*YAML_MEDIA_TYPES)
def yaml_text(context: Any, response: Any) -> str:
    """The document describes a file as the text that it is, so it is not parsed."""
    return str(response.text)


@schemathesis.hook
def before_call(context: Any, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    """Put real ids into a valid request, and leave out cursors, which cannot be made up."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if case.query:
        case.query.pop("cursor", None)
    if os.environ.get("SKEIN_FUZZ_LINKED"):
        return  # it goes by the ids of what it has made
    names = PATHS.get(case.path, {})
    for name, value in list((case.path_parameters or {}).items()):
        kind = names.get(name, name)
        if kind in own() and zlib.crc32(str(value).encode()) % 2:
            case.path_parameters[name] = own()[kind]
