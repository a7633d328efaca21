"""The providers of models that have an adapter of their own, beside OpenAI-compatible APIs."""

# Provider -> the function that creates its models from the parts in `adapters/model_providers.py`.
# The function is imported at the first request.
MODEL_ADAPTERS = {"converse": "skein.adapters.converse.model.create"}
