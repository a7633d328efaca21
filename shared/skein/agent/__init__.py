"""The turn of an agent: its reading, its prompt, its steps and its tools."""
