"""Members of an account: their roles, and invitations by link."""
