"""The audit entries that changes of an account leave."""
