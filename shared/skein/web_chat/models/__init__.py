"""What the web chat stores."""

__all__ = ["widget"]
