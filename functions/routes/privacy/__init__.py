"""Routes of erasures, exports and the audit log."""
