"""Routes of pictures and files."""
