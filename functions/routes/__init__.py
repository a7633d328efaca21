"""The routes of the two HTTP APIs, one module per subject."""
