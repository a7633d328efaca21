"""The routes of the two HTTP APIs, one package per subject, and the document about them."""
