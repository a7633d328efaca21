"""Stories of people who tell an agent things in private.

The benchmark measures what other people get to know by sharing rules, and what they must not.
"""
