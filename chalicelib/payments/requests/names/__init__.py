"""Names of payees: normalizing them, resolving them by ENS when something is created, and what is stored of it."""
