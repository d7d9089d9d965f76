"""Sessions of people who signed in."""
