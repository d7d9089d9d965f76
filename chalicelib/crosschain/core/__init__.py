"""Bridge transfers as they are stored with what they pay."""
