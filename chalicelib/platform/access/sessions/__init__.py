"""Sessions of users who signed in."""
