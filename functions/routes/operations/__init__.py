"""The routes for operating a stack: runs, settings, pauses, usage and the audit."""
