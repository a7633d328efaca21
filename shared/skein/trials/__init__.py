"""Keep cases of agents, and try a new version of an agent on them before it answers people.

`models` has the stored cases and trials. `records` changes cases, and `trials` starts trials, which
`worker` plays: `run_cases` the case of a run, `worlds` a script. `gate` asks for a trial.
"""

__all__ = ["api", "gate", "jobs", "models", "records", "run_cases", "trials", "worlds"]
