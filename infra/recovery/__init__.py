"""Commands of an operator that put a stage back: its code, its tables, and its end."""
