"""Define errands and meetings."""

__all__ = [
    "errand",
    "meeting",
]
