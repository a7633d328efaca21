"""Several providers of models; a model's name may begin with the name of its provider.

The deployment names the providers and their addresses. Operators choose a model of one of them, for
example `bedrock/openai.gpt-oss-20b`. A name without such a prefix is a model of the default
provider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skein.models.runs.completion import ModelAnswer, ModelRequest
    from skein.ports import LanguageModel


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
