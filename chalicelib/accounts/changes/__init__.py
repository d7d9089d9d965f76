"""Changes of where money goes: they wait until a second person approves them, or for a delay."""
