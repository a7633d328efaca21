"""Tools that build, deploy and migrate Skein, never deployed themselves."""
