"""Keep cases of agents, and try a new version of an agent on them before it answers people.

`models` has the stored cases and trials. `records` creates and changes cases. `trials` starts
trials, and `worker` plays them: with `run_cases` for a case of a run, with `worlds` for a script.
`gate` lets a change of an agent require a trial.
"""

__all__ = ["api", "gate", "jobs", "models", "records", "run_cases", "trials", "worlds"]
