"""Tokens that a local stack issues to everyone on this machine, without signing in."""

import httpx2

TENANT = "demo"  # of the demo and of agents in a Python file
TIMEOUT_SECONDS = 5.0


class NoStackError(Exception):
    """No local stack answers, or the stack has no such agent."""


def local_token(url: str, *, sub: str, scope: str, name: str | None = None) -> str:
    """Return a token of the stack at a URL.

    Args:
        url: The URL of the stack.
        sub: The id of the person or operator.
        scope: The scopes, separated by spaces.
        name: The name of the person; if None, the id is the name.

    Raises:
        NoStackError: No local stack answers at the URL.
    """
    asked = {"sub": sub, "tenant": TENANT, "scope": scope, "name": name}
    try:
        response = httpx2.post(f"{url}/local/token", json=asked, timeout=TIMEOUT_SECONDS)
        token: str = response.json()["token"]
    except (httpx2.HTTPError, ValueError, LookupError, TypeError) as error:
        raise NoStackError(f"no local stack answers at {url}") from error
    return token
