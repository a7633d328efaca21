"""One turn of an agent: what it reads, its prompt, its steps and its tools."""
