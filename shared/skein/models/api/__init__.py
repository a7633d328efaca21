"""The bodies of HTTP requests and responses, one module per subject."""
