"""Finding payments."""
