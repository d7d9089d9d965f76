"""Sessions of those who signed in."""
