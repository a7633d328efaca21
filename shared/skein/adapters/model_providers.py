"""Several providers of models; a model's name may begin with the name of its provider.

The deployment names the providers of OpenAI-compatible APIs and their addresses. Other APIs have an
adapter: a folder and a line in `MODEL_ADAPTERS`. Operators choose a model of a provider, such as
`bedrock/openai.gpt-oss-20b` or `converse/eu.amazon.nova-lite-v1:0`. A name without such a prefix is
a model of the default provider.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from skein.settings import MODEL_ADAPTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skein.adapters.aws.clients import Aws
    from skein.models.runs.completion import ModelAnswer, ModelRequest
    from skein.ports import LanguageModel, Secrets
    from skein.settings import Settings


class AdapterParts(NamedTuple):
    """What an adapter may use.

    Attributes:
        settings: The settings.
        secrets: Returns the secret store. The secret of models contains the key of each provider,
            by the provider's name.
        aws: Returns the factory of AWS clients.
    """

    settings: Settings
    secrets: Callable[[], Secrets]
    aws: Callable[[], Aws]


def adapted_models(parts: AdapterParts) -> dict[str, Callable[[], LanguageModel]]:
    """Return functions that each create the models of one adapter, by the provider's name."""
    return {name: partial(_created, path, parts) for name, path in MODEL_ADAPTERS.items()}


def _created(path: str, parts: AdapterParts) -> LanguageModel:
    module, _, function = path.rpartition(".")
    models: LanguageModel = getattr(import_module(module), function)(parts)
    return models


class ProviderModels:
    """`LanguageModel` of several providers.

    Args:
        default: The models of the default provider.
        others: Functions that create the models of the other providers, by the provider's name. A
            function is called at the first use.
    """

    def __init__(
        self, default: LanguageModel, others: Mapping[str, Callable[[], LanguageModel]]
    ) -> None:
        self._default = default
        self._others = others
        self._made: dict[str, LanguageModel] = {}

    def complete(self, request: ModelRequest) -> ModelAnswer:
        model, routed = self._routed(request)
        return model.complete(routed)

    def stream(self, request: ModelRequest, heard: Callable[[str], None]) -> ModelAnswer:
        model, routed = self._routed(request)
        return model.stream(routed, heard)

    def _routed(self, request: ModelRequest) -> tuple[LanguageModel, ModelRequest]:
        """Return the provider of a request, and the request without the provider's prefix."""
        provider, _, name = request.model.partition("/")
        if provider not in self._others or not name:
            return self._default, request
        if provider not in self._made:
            self._made[provider] = self._others[provider]()
        return self._made[provider], request.model_copy(update={"model": name})
