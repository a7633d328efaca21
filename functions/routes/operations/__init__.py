"""Routes for operating a stack: runs, prompts, reasons, settings, pauses, usage and health."""
