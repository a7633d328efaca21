"""Routes of the sources of knowledge."""
