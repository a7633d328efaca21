"""Keep cases of agents, and try a new version of an agent on them before it answers people.

`models` has the stored cases and what they expect of a play. `records` creates and changes cases.
`run_cases` plays the case of a run, and `worlds` a script. `verdicts` has the rule that judges.
"""

__all__ = ["api", "models", "records"]
