"""Changes to a person's profile: merge fields, record sources, and protect people's own values.

A value belongs to an agent if the newest recorded change of its field is an agent's. All other
values were set by an operator or by the person, and consolidation never overwrites them.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from skein.errors import Conflict, Unprocessable
from skein.models.common.base import TimeZone
from skein.models.common.free_fields import OWN_FIELDS, Profile
from skein.models.common.person_names import MemberName
from skein.models.directory.address_index import caller_name
from skein.models.directory.profile_change import (
    MAX_CHANGES,
    MAX_CHANGES_BYTES,
    ProfileChange,
    ProfileSource,
)
from skein.models.directory.user import User, UserChanges

_PROFILE: TypeAdapter[dict[str, Any]] = TypeAdapter(Profile)
_NAME: TypeAdapter[str] = TypeAdapter(MemberName)
_TIME_ZONE: TypeAdapter[str | None] = TypeAdapter(TimeZone | None)


def changed_field(user: User, field: str, value: Any) -> UserChanges:
    """Return the user attributes that change when one field is set.

    Args:
        user: The user as read.
        field: The name of a profile field, `name` or `time_zone`.
        value: The new value; None removes the field.

    Raises:
        Unprocessable: The value is invalid, the profile as a whole would be too large, or the field
            cannot be removed.
    """
    if value is None and field == "name":
        raise Unprocessable("name: this field cannot be removed")
    try:
        if field == "name":
            return {"name": _NAME.validate_python(value)}
        if field == "time_zone":
            return {"time_zone": _TIME_ZONE.validate_python(value)}
        fields = _PROFILE.validate_python({field: value})
    except ValidationError as error:
        reasons = dict.fromkeys(reason["msg"] for reason in error.errors())
        raise Unprocessable(f"{field}: {'; '.join(reasons)}") from None
    return {"profile": _merged(user, fields)}


def changes_of(user: User, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user attributes that change; a profile is merged field by field.

    Args:
        user: The user as read.
        given: The new values of fields; in `profile`, None removes a field.

    Raises:
        Unprocessable: The profile as a whole would be too large.
    """
    if "profile" not in given:
        return dict(given)
    return {**given, "profile": _merged(user, given["profile"])}


def _merged(user: User, fields: Mapping[str, Any]) -> dict[str, Any]:
    kept = {
        name: value for name, value in (user.profile | dict(fields)).items() if value is not None
    }
    try:
        return _PROFILE.validate_python(kept)
    except ValidationError as error:
        raise Unprocessable(f"profile: {error.errors()[0]['msg']}") from None


def value_of(user: User, field: str) -> Any:
    """Return the value of a user's field; None if the field is not set."""
    return getattr(user, field) if field in OWN_FIELDS else user.profile.get(field)


def set_by_agent(
    user: User, field: str, value: Any, source: ProfileSource, *, change_id: str, now: datetime
) -> UserChanges:
    """Return a user's changed fields after an agent sets one field, with the change's record.

    Args:
        user: The user as read.
        field: The name of a profile field, `name` or `time_zone`.
        value: The new value; None removes the field.
        source: The source of the value.
        change_id: The id of the record.

    Returns:
        The changed fields, with `profile_changes`; empty if the field already has this value. A
        new name counts as chosen by the person, because the person told the name to the agent.

    Raises:
        Unprocessable: The value is invalid or too large, or the field cannot be removed.
    """
    given = changed_field(user, field, value)
    before, after = value_of(user, field), value_of(user.model_copy(update=given), field)
    if before == after:
        return {}
    made = ProfileChange(
        id=change_id,
        field=field,
        before=before,
        before_source=user.name_source if field == "name" else None,
        value=after,
        source=source,
        at=now,
    )
    if field == "name":
        given["name_source"] = "chosen"
    given["profile_changes"] = kept_changes([*user.profile_changes, made])
    return given


def set_by_person(
    user: User, given: Mapping[str, Any], *, change_id: str, now: datetime
) -> dict[str, Any]:
    """Return the changed fields of a user after the person's own change, with its records.

    A new name counts as chosen by the person; an unchanged name keeps its source. Records of
    earlier changes by agents are kept. Only the newest of the person's own changes to a field is
    recorded.

    Args:
        user: The user as read.
        given: The new values of fields of the user.
        change_id: The prefix of the ids of the records.

    Returns:
        The changed fields, with `profile_changes`; empty if the person has already set all these
        values.
    """
    changed = {name: value for name, value in given.items() if getattr(user, name) != value}
    if "name" in changed:
        changed["name_source"] = "chosen"
    made = [
        ProfileChange(
            id=f"{change_id}_{field}",
            field=field,
            before=value_of(user, field),
            value=given[field],
            source=None,
            at=now,
        )
        for field in OWN_FIELDS
        if field in given and (field in changed or newest_change(user, field) is not None)
    ]
    if not made:
        return changed
    fields = {each.field for each in made}
    earlier = [
        each for each in user.profile_changes if each.source is not None or each.field not in fields
    ]
    return changed | {"profile_changes": kept_changes([*earlier, *made])}


def set_by_operator(user: User, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changed fields of a user after an operator's change; see `changes_of`.

    The values then count as set by the operator, and a name counts as given by the operator. The
    records of earlier changes to these fields, by agents and by the person, are removed.

    Raises:
        Unprocessable: The profile as a whole would be too large.
    """
    changed = changes_of(user, given)
    if "name" in given:
        changed["name_source"] = "given"
    named = {*given.get("profile", {}), *(set(OWN_FIELDS) & given.keys())}
    left = tuple(made for made in user.profile_changes if made.field not in named)
    return changed if left == user.profile_changes else changed | {"profile_changes": left}


def newest_change(user: User, field: str) -> ProfileChange | None:
    """Return the agent's change that led to the current value of a field.

    Returns:
        The change; None if an operator or the person set the value, or if it was never set.
    """
    changes = (made for made in reversed(user.profile_changes) if made.field == field)
    newest = next((made for made in changes if made.undone_at is None), None)
    if newest is None or newest.source is None or newest.value != value_of(user, field):
        return None
    return newest


def may_fill(user: User, field: str) -> bool:
    """Return whether consolidation may set a field.

    It may set a field that is empty, that has its default, or that an agent set.
    """
    if value_of(user, field) is None or newest_change(user, field) is not None:
        return True
    return field == "name" and _is_default_name(user)


def may_set(user: User, field: str, value: Any, said_at: datetime) -> bool:
    """Return whether consolidation may set a field to a value.

    A value that an agent set is replaced only if the messages that it came from are all older than
    `said_at`. A value that an operator has undone is not set again.

    Args:
        user: The user as read.
        field: The name of a profile field, `name` or `time_zone`.
        value: The new value.
        said_at: The time of the newest message that the value comes from.
    """
    undone = (made for made in user.profile_changes if made.field == field and made.undone_at)
    if not may_fill(user, field) or any(_same(made.value, value) for made in undone):
        return False
    made = newest_change(user, field)
    return made is None or made.source is None or made.source.said_at < said_at


def undone(user: User, made: ProfileChange, *, now: datetime) -> UserChanges:
    """Return the changed fields of a user after an operator undoes an agent's change.

    Args:
        user: The user as read.
        made: A change of this user that was not undone yet.

    Raises:
        Conflict: The person made the change, or the field has changed since.
        Unprocessable: The profile with the earlier value would be too large.
    """
    if made.source is None:
        raise Conflict("the person made this change, so it cannot be undone")
    if newest_change(user, made.field) != made:
        raise Conflict("the field has changed since")
    given = _as_before(user, made)
    ended = made.model_copy(update={"undone_at": now})
    changes = tuple(ended if each.id == made.id else each for each in user.profile_changes)
    given["profile_changes"] = changes
    return given


def _as_before(user: User, made: ProfileChange) -> UserChanges:
    given = changed_field(user, made.field, made.before)
    if made.field == "name":
        given["name_source"] = made.before_source or "chosen"
    return given


def withdrawn(user: User, gone: Callable[[ProfileSource], bool]) -> dict[str, Any]:
    """Return a user's changed fields after removing values made from deleted messages.

    Only values that agents set are removed. If the field still has a removed value, its previous
    value is restored. The records of the removed values are deleted, too.

    Args:
        user: The user as read.
        gone: Returns whether all messages from which a value was made are deleted.

    Returns:
        The changed fields, with `profile_changes`; empty if all values stay.
    """
    revised = user
    going = [made.id for made in user.profile_changes if made.source and gone(made.source)]
    for change_id in reversed(going):
        made = next(each for each in revised.profile_changes if each.id == change_id)
        given: UserChanges = {}
        if newest_change(revised, made.field) == made:
            given = _as_before(revised, made)
        left = (each for each in revised.profile_changes if each.id != made.id)
        changes = tuple(_without_before(each, made) for each in left)
        given["profile_changes"] = changes
        revised = revised.model_copy(update=given)
    names = ("name", "name_source", "time_zone", "profile", "profile_changes")
    return {
        name: getattr(revised, name)
        for name in names
        if getattr(revised, name) != getattr(user, name)
    }


def _without_before(change: ProfileChange, gone: ProfileChange) -> ProfileChange:
    """Replace the previous value in `change` if the value came from the removed change `gone`."""
    if change.field != gone.field or change.at < gone.at or change.before != gone.value:
        return change
    return change.model_copy(update={"before": gone.before, "before_source": gone.before_source})


def kept_changes(changes: Iterable[ProfileChange]) -> tuple[ProfileChange, ...]:
    """Return the newest changes that fit into the user's record, oldest first.

    At least one change is returned.
    """
    kept: list[ProfileChange] = []
    size = 0
    for made in sorted(changes, key=lambda made: (made.at, made.id), reverse=True):
        size += len(json.dumps(made.model_dump(mode="json"), ensure_ascii=False).encode())
        if kept and (size > MAX_CHANGES_BYTES or len(kept) == MAX_CHANGES):
            break
        kept.append(made)
    return tuple(reversed(kept))


def _is_default_name(user: User) -> bool:
    """Return whether a caller's name is still the default that was made from the address."""
    return user.caller and user.name in map(caller_name, user.addresses)


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are the same, apart from case and white space of texts."""
    if isinstance(one, str) and isinstance(other, str):
        return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
    return bool(one == other)
