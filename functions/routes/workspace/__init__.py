"""The routes of agents' goals, plans, documents and threads."""
