"""How the requests and the resource of one kind inherit their fields."""

from typing import Annotated

import pytest
from pydantic import BaseModel, Field, ValidationError

from skein.models.api.base import ChangeRequest, Page, Resource


class CupFields(BaseModel):
    size: Annotated[int, Field(description="How large.", ge=1, le=5)] = 2
    color: Annotated[str | None, Field(description="The color.", max_length=9)] = None


class CupChange(CupFields, ChangeRequest):
    name: Annotated[str | None, Field(description="The name.")] = None


class CupResource(CupFields, Resource):
    name: str


class CupPage(Page[CupResource]):
    """A page of cups."""


class Cup(CupFields):
    name: str = "Cup"


class Listing(BaseModel):
    items: tuple[Cup, ...]
    next_cursor: str | None


def test_change_without_fields_is_empty() -> None:
    assert CupChange().given == {}


def test_null_resets_only_fields_that_may_be_null() -> None:
    change = CupChange.model_validate({"size": None, "color": None, "name": None})
    assert change.given == {"color": None}


def test_field_that_was_not_given_has_no_value_rather_than_its_default() -> None:
    change = CupChange(color="red")
    assert change.given == {"color": "red"}
    with pytest.raises(AttributeError):
        _ = change.size


@pytest.mark.parametrize("given", [{"size": 6}, {"color": "x" * 10}, {"handle": True}])
def test_change_has_the_limits_of_the_fields(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        CupChange.model_validate(given)


def test_schema_of_a_change_has_nullable_fields_without_defaults() -> None:
    schema = CupChange.model_json_schema()
    assert "required" not in schema
    assert schema["properties"]["size"] == {
        "anyOf": [{"type": "integer", "minimum": 1, "maximum": 5}, {"type": "null"}],
        "description": "How large.",
        "title": "Size",
    }


def test_schema_of_a_resource_has_all_fields_without_limits() -> None:
    schema = CupResource.model_json_schema(mode="serialization")
    assert set(schema["required"]) == {"size", "color", "name"}
    assert schema["properties"]["size"] == {
        "type": "integer",
        "description": "How large.",
        "title": "Size",
    }


def test_page_shows_the_items_of_a_listing() -> None:
    page = CupPage.of(Listing(items=(Cup(size=3),), next_cursor="next"))
    assert page.model_dump() == {
        "items": ({"size": 3, "color": None, "name": "Cup"},),
        "next_cursor": "next",
    }
