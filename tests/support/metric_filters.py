"""Filters of log lines in JSON, matched as CloudWatch Logs describes it.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html: a selector
names a field, a text may have `*` for any characters, `&&` binds before `||`, and a comparison with
a field that a line does not have is false, also with `!=`. Operators that no filter here uses are
refused.
"""

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

COMPARISON = re.compile(r'\$(?P<path>(?:\.\w+)+) (?P<operator>=|!=) "(?P<text>[^"]*)"')
MISSING = object()


def matches(pattern: str, line: str) -> bool:
    """Tell whether a line matches a pattern; a line that is no JSON object matches none.

    Raises:
        ValueError: The pattern is malformed or has an operator that is not known here.
    """
    inner = re.fullmatch(r"\{ (.+) \}", pattern)
    if inner is None:
        raise ValueError(f"{pattern!r} is no pattern of JSON")
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    either = [
        [_compare(_bare(one), found) for one in part.split(" && ")]
        for part in inner[1].split(" || ")
    ]
    return any(all(parts) for parts in either)


def _bare(text: str) -> str:
    return text.removeprefix("(").removesuffix(")")


def _compare(text: str, line: Any) -> bool:
    comparison = COMPARISON.fullmatch(text)
    if comparison is None:
        raise ValueError(f"{text!r} is no comparison that is known here")
    value = line
    for name in comparison["path"].split(".")[1:]:
        value = value.get(name, MISSING) if isinstance(value, Mapping) else MISSING
    if value is MISSING or isinstance(value, Mapping | list):
        return False
    wanted = re.sub(r"[\[\]?]", lambda found: f"[{found[0]}]", comparison["text"])
    equal = fnmatchcase(value if isinstance(value, str) else json.dumps(value), wanted)
    return equal is (comparison["operator"] == "=")
