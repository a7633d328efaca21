"""Roles by a file: `make roles` reads it whole, and changes what differs."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from tests.support.api_client import operator
from tests.support.builders import PHONE, World
from tests.support.family import EMMA, RINA, TOM, Family
from tests.support.sms_choices import Phone
from tools.stack import roles as command
from tools.stack.roles import BadFileError, RoleFile, rows_of
from tools.stack.smoke import Answer

URL = "https://api.example"
HEAD = "user,role,subject\n"


def file_for(world: World) -> RoleFile:
    """The command, with a world behind its URL."""

    def call(method: str, url: str, body: object = None, *, token: str | None = None) -> Answer:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query))
        answer = operator(world).call(method, unquote(parts.path), body, query=query)
        assert token == "key"
        return Answer(answer.status, answer.body)

    return RoleFile(URL, "key", call)


def applied(world: World, lines: str) -> list[str]:
    """Apply a file; returns what has changed, in words."""
    file = file_for(world)
    return [str(each) for each in file.apply(file.changes(rows_of(HEAD + lines)))]


def roles_of(world: World, user_id: str) -> list[dict[str, Any]]:
    body = operator(world).get(f"/v1/users/{user_id}").body
    return [dict(each) for each in body["roles"]]


@pytest.fixture
def family() -> Family:
    return Family.made()


def test_people_of_the_file_have_its_roles_and_others_keep_theirs(family: Family) -> None:
    changed = applied(family, f"{EMMA.id},nurse,{RINA.id}\n{EMMA.id}, daughter ,\n{RINA.id},,\n")
    assert changed == ["usr_emma (Emma): daughter -> daughter, nurse of usr_rina"]
    assert roles_of(family, EMMA.id) == [
        {"role": "daughter", "subject": None},
        {"role": "nurse", "subject": RINA.id},
    ]
    assert roles_of(family, TOM.id) == [{"role": "father", "subject": None}]


def test_file_that_was_applied_changes_nothing(family: Family) -> None:
    lines = f"{EMMA.id},nurse,{RINA.id}\n{TOM.id},,\n"
    assert len(applied(family, lines)) == 2
    before = family.operator.get(f"/v1/users/{EMMA.id}").body
    assert applied(family, lines) == []
    assert family.operator.get(f"/v1/users/{EMMA.id}").body == before
    assert roles_of(family, TOM.id) == []


def test_people_are_found_by_their_numbers() -> None:
    phone = Phone()
    phone.world.known(EMMA)
    [changed] = applied(phone.world, f"{PHONE},nurse,{EMMA.id}\n{EMMA.id},patient,{PHONE}\n")[:1]
    assert changed.endswith(": no role -> nurse of usr_emma")
    assert roles_of(phone.world, EMMA.id) == [{"role": "patient", "subject": phone.user_id}]


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ("usr_nobody,nurse,\n", "line 3: nobody has the id or number usr_nobody"),
        (f"{TOM.id},nurse,usr_nobody\n", "line 3: nobody has the id or number usr_nobody"),
        ("+15005550999,nurse,\n", r"line 3: nobody has the id or number \+15005550999"),
        ("+1,nurse,\n", r"line 3: nobody has the id or number \+1"),
        (f"{TOM.id},Nurse!,\n", "line 3: 'Nurse!' is no name of a role"),
        (f"{TOM.id},,{EMMA.id}\n", "line 3: a subject needs a role"),
        (f"{EMMA.id},nurse,\n", "line 3: the role stands in the file twice"),
        ("".join(f"{TOM.id},r{n},\n" for n in range(11)), "line 13: more than 10 roles"),
        (",nurse,\n", "line 3: no user"),
    ],
)
def test_roles_file_with_an_error_changes_no_person(family: Family, lines: str, error: str) -> None:
    with pytest.raises(BadFileError, match=error):
        applied(family, f"{EMMA.id},nurse,\n{lines}")
    assert roles_of(family, EMMA.id) == [{"role": "daughter", "subject": None}]


@pytest.mark.parametrize("text", ["", "id,role\nusr_emma,nurse\n", HEAD])
def test_file_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(BadFileError):
        rows_of(text)


def test_dry_run_prints_the_changes_and_makes_none(
    family: Family,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "call", None)
    monkeypatch.setattr(command, "RoleFile", lambda *_: file_for(family))
    path = tmp_path / "roles.csv"
    path.write_text(f"{HEAD}{EMMA.id},nurse,\n", "utf-8")
    command.main(["--dry-run", URL, str(path)], {"OWNER": "key"})
    assert capsys.readouterr().out == (
        "usr_emma (Emma): daughter -> nurse\n1 people would change\n"
    )
    assert roles_of(family, EMMA.id) == [{"role": "daughter", "subject": None}]
    command.main([URL, str(path)], {"OWNER": "key"})
    assert capsys.readouterr().out.endswith("1 people changed\n")
    assert roles_of(family, EMMA.id) == [{"role": "nurse", "subject": None}]


@pytest.mark.parametrize(
    ("url", "environment", "error"),
    [
        ("http://api.example", {"OWNER": "key"}, "https://"),
        (URL, {}, "an API key"),
        (URL, {"OWNER": "key"}, "failed: "),
    ],
)
def test_command_refuses_in_one_sentence(
    tmp_path: Path, url: str, environment: dict[str, str], error: str
) -> None:
    with pytest.raises(SystemExit, match=error):
        command.main([url, str(tmp_path / "none.csv")], environment)
