"""The language model and embeddings of providers with OpenAI's API."""
