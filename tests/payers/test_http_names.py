"""Whatever text names a person: it finds that one alone over HTTP, and never another one."""
