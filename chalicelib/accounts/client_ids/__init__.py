"""Client ids of an account: create, read, change and revoke."""
