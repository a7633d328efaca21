"""What the cold start and the first event of each function cost."""
