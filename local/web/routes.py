"""Routing of requests to functions, by the rules of API Gateway HTTP APIs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from local.template import Function, Route

DEFAULT_ROUTE = "$default"

# https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
EXACT, TEMPLATED, GREEDY, DEFAULT = range(4)


@dataclass(frozen=True)
class Match:
    """Route of a request, with its function and path parameters."""

    route: Route
    function: Function
    path_parameters: Mapping[str, str]

    @property
    def key(self) -> str:
        """The route key in events."""
        if self.route.path == DEFAULT_ROUTE:
            return DEFAULT_ROUTE
        return f"{self.route.method} {self.route.path}"


class Routes:
    """Routes of the API, most specific first."""

    def __init__(self, functions: Sequence[Function]) -> None:
        entries = [
            (_rank(route), _pattern(route.path), route, function)
            for function in functions
            for route in function.routes
        ]
        self._entries = sorted(entries, key=lambda entry: entry[0])

    def match(self, method: str, path: str) -> Match | None:
        """Find the route of a request; None if no route matches.

        Args:
            method: The HTTP method in upper case.
            path: The path as sent, with percent-escapes.
        """
        for _, pattern, route, function in self._entries:
            if route.method not in {method, "ANY"}:
                continue
            found = pattern.fullmatch(path)
            if found:
                values = {name: unquote(value) for name, value in found.groupdict().items()}
                names = re.findall(r"\{(\w+)\+?\}", route.path)
                return Match(
                    route, function, {name: values[f"p{n}"] for n, name in enumerate(names)}
                )
        return None


def _rank(route: Route) -> tuple[int, int, bool]:
    """Return a sort key that puts more specific routes first.

    The order is literal, templated, greedy, default; and longer paths before shorter ones.
    """
    if route.path == DEFAULT_ROUTE:
        kind = DEFAULT
    elif "+}" in route.path:
        kind = GREEDY
    else:
        kind = TEMPLATED if "{" in route.path else EXACT
    return kind, -len(route.path.split("/")), route.method == "ANY"


def _pattern(path: str) -> re.Pattern[str]:
    if path == DEFAULT_ROUTE:
        return re.compile(".*", re.DOTALL)
    parts = re.split(r"(\{\w+\+?\})", path)
    names = iter(range(len(parts)))
    return re.compile(
        "".join(
            f"(?P<p{next(names)}>{'.+' if part.endswith('+}') else '[^/]+'})"
            if part.startswith("{")
            else re.escape(part)
            for part in parts
        ),
        re.DOTALL,
    )
