"""The extension points: each entry names a class that the app can build."""

from typing import get_args

import pytest

from skein.bootstrap.ports import Ports
from skein.bootstrap.wiring import App
from skein.interface.extensions import DUE_ITEMS, EFFECTS, RegisteredExtensions
from skein.models.api.choices import ChoicePurpose
from skein.models.common.storage import META, SortKeyPrefix
from skein.services.choices.effect import AnswerEffect, AnswerEffects
from skein.settings import Settings
from tests.fakes.table import MemoryTable


@pytest.fixture(scope="module")
def effects() -> AnswerEffects:
    return App(Ports(Settings(), table=MemoryTable())).get(AnswerEffects)


@pytest.mark.parametrize("name", EFFECTS)
def test_registered_effect_is_built_once_by_its_purpose(effects: AnswerEffects, name: str) -> None:
    purpose, _, data = name.partition("/")
    effect = effects.of(purpose, {data: {}} if data else {})
    assert isinstance(effect, AnswerEffect)
    assert f"{type(effect).__module__}.{type(effect).__qualname__}" == EFFECTS[name]
    assert effects.of(purpose, {data: {}} if data else {}) is effect


def test_purpose_without_an_effect_is_an_error(effects: AnswerEffects) -> None:
    with pytest.raises(KeyError):
        effects.of("unheard", {})


def test_api_names_the_purposes_that_have_an_effect() -> None:
    assert set(get_args(ChoicePurpose)) == {name.partition("/")[0] for name in EFFECTS}


@pytest.mark.parametrize("name", DUE_ITEMS)
def test_registered_due_item_is_of_its_kind_and_has_a_job(name: str) -> None:
    due, _, kind = name.partition("/")
    found = RegisteredExtensions().due_item(due, kind)
    assert found is not None
    assert kind in {META, getattr(found, "PREFIX", SortKeyPrefix("-#")).kind}
    assert isinstance(found.job, property)


def test_due_item_of_the_core_is_not_registered() -> None:
    assert RegisteredExtensions().due_item("choice", "CONSENT") is None
