"""Every route and every tool, called by whoever must not get anywhere with it."""
