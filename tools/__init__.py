"""What builds Skein: the tokenizer's ranks, the layer, its size. Never deployed."""
