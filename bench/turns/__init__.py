"""The cost of turns with Skein and with its peers, on the same databases."""
