"""Tools that build and deploy Skein, never deployed themselves."""
