"""An agent's turn: what it reads, its prompt, its steps and its tools."""
