"""Use cases: load, decide, commit, announce."""


