"""What Skein does at sizes that nobody has at home: computed, and simulated with the real code."""
