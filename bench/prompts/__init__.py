"""The size of prompts, and how much of them a provider's prefix cache serves."""
