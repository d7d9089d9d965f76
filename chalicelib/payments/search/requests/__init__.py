"""The status of one request: what is owed and paid of it, in which payments, and what that is in dollars."""
