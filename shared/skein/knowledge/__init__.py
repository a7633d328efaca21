"""What the business has written: sources, their search, and the citations of answers."""

__all__: list[str] = []
