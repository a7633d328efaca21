"""The capabilities of Skein, as services that are built from ports."""
