"""Routes of the desk."""
