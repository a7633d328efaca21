"""Gives people the roles in a file: `make roles URL=https://... FILE=roles.csv`.

`OWNER=... python -m tools.stack.roles [--dry-run] URL FILE` takes an API key or a token that has
the role `owner`. The file is CSV with the columns `user`, `role` and `subject`; users and subjects
are ids or phone numbers. Afterwards, each person in the file has exactly the roles in the file, and
no role if `role` is empty. All other people keep their roles. The whole file is checked before the
first change. Applying a file again changes nothing.
"""

import argparse
import csv
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from pydantic import ValidationError

from skein.channels.phone_numbers import e164
from skein.models.directory.role import MAX_ROLES, Role
from tools.stack.smoke import LOOPBACK, Call, SmokeError, call

KEY = "OWNER"
COLUMNS = ("user", "role", "subject")


class BadFileError(Exception):
    """The file can't be applied; each line of the message says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the file: a person, and one of the person's roles, or none if the role is empty."""

    line: int
    user: str
    role: str
    subject: str


@dataclass(frozen=True, slots=True)
class Change:
    """A person whose roles the file changes, with the new roles."""

    user_id: str
    name: str
    before: tuple[Role, ...]
    after: tuple[Role, ...]

    def __str__(self) -> str:
        return f"{self.user_id} ({self.name}): {_shown(self.before)} -> {_shown(self.after)}"


def rows_of(text: str) -> list[Row]:
    """Parse the text of a file.

    Raises:
        BadFileError: The file has other columns, no lines, or a line without a user.
    """
    reader = csv.DictReader(text.splitlines())
    if tuple(reader.fieldnames or ()) not in {COLUMNS, COLUMNS[:2]}:
        raise BadFileError(f"the first line must be {','.join(COLUMNS)}")
    rows = [
        Row(number, *((each.get(name) or "").strip() for name in COLUMNS))
        for number, each in enumerate(reader, 2)
    ]
    errors = [f"line {row.line}: no user" for row in rows if not row.user]
    if errors or not rows:
        raise BadFileError("\n".join(errors) or "the file has no lines")
    return rows


@dataclass
class RoleFile:
    """Applies a file to a tenant.

    Args:
        url: The URL of the API.
        token: An API key or a token with the role `owner`.
        call: Makes an HTTP request.
    """

    url: str
    token: str
    call: Call = call
    _found: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)

    def changes(self, rows: Sequence[Row]) -> list[Change]:
        """Check the whole file; return the changes that it makes.

        Raises:
            BadFileError: A person is unknown, has too many roles, or has a role that is invalid or
                named twice.
            SmokeError: The API did not answer, or refused the call.
        """
        errors: list[str] = []
        users: dict[str, Mapping[str, Any]] = {}
        wanted: dict[str, list[Role]] = {}
        for row in rows:
            user = self._user(row.user)
            subject = self._user(row.subject) if row.subject else None
            if user is None or (row.subject and subject is None):
                missing = row.user if user is None else row.subject
                errors.append(f"line {row.line}: nobody has the id or number {missing}")
                continue
            users[user["id"]], roles = user, wanted.setdefault(user["id"], [])
            error = _added(roles, row, subject["id"] if subject is not None else None)
            if error is not None:
                errors.append(f"line {row.line}: {error}")
        if errors:
            raise BadFileError("\n".join(errors))
        changed = (
            Change(user_id, user["name"], _sorted(map(Role.model_validate, user["roles"])), after)
            for user_id, user in users.items()
            for after in [_sorted(wanted[user_id])]
        )
        return [each for each in changed if each.before != each.after]

    def apply(self, changes: Iterable[Change]) -> Iterator[Change]:
        """Give each person the new roles; yield each change that was made.

        Raises:
            SmokeError: The API did not answer, or refused the call. Run the command again for the
                rest.
        """
        for each in changes:
            roles = [role.model_dump() for role in each.after]
            self._ok("PATCH", f"/v1/users/{quote(each.user_id, safe='')}", {"roles": roles})
            yield each

    def _user(self, name: str) -> Mapping[str, Any] | None:
        """Return the person with this id or phone number; None if there is none."""
        if name not in self._found:
            self._found[name] = self._looked_up(name)
        return self._found[name]

    def _looked_up(self, name: str) -> Mapping[str, Any] | None:
        if not name.startswith("+"):
            found: Mapping[str, Any] | None = self._ok("GET", f"/v1/users/{quote(name, safe='')}")
            return found
        try:
            listed = self._ok("GET", f"/v1/users?phone={quote(e164(name))}")
        except ValueError:
            return None
        return self._user(listed["items"][0]["id"]) if listed["items"] else None

    def _ok(self, method: str, path: str, body: object = None) -> Any:
        answer = self.call(method, f"{self.url}{path}", body, token=self.token)
        if answer.status == HTTPStatus.NOT_FOUND and method == "GET":
            return None
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise SmokeError(f"{method} {path}: {answer.status} {answer.body}")
        return answer.body


def _added(roles: list[Role], row: Row, subject: str | None) -> str | None:
    """Add the role in a line to its person's roles; return what is wrong with the line, or None."""
    if not row.role:
        return "a subject needs a role" if row.subject else None
    try:
        role = Role(role=row.role, subject=subject)
    except ValidationError:
        return f"{row.role!r} is no name of a role: small letters, digits, spaces, - and _"
    if role in roles:
        return "the role stands in the file twice"
    roles.append(role)
    return f"more than {MAX_ROLES} roles of one person" if len(roles) > MAX_ROLES else None


def _sorted(roles: Iterable[Role]) -> tuple[Role, ...]:
    return tuple(sorted(roles, key=lambda role: (role.role, role.subject or "")))


def _shown(roles: Sequence[Role]) -> str:
    named = (f"{each.role} of {each.subject}" if each.subject else each.role for each in roles)
    return ", ".join(named) or "no role"


def main(argv: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="tools.stack.roles")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("url")
    parser.add_argument("file", type=Path)
    options = parser.parse_args(argv)
    url, token = urlsplit(options.url), environment.get(KEY, "")
    if url.scheme != "https" and url.hostname not in LOOPBACK:
        raise SystemExit("failed: URL must begin with https://")
    if not token:
        raise SystemExit(f"failed: {KEY} must be an API key with the role owner")
    roles = RoleFile(options.url.rstrip("/"), token)
    try:
        changes = roles.changes(rows_of(options.file.read_text("utf-8")))
        for change in changes if options.dry_run else roles.apply(changes):
            print(change)
    except (BadFileError, SmokeError, OSError, UnicodeError) as error:
        raise SystemExit(f"failed: {error}") from error
    print(f"{len(changes)} people {'would change' if options.dry_run else 'changed'}")


if __name__ == "__main__":
    main(sys.argv[1:], os.environ)
