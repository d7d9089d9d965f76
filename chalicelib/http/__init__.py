"""HTTP: the one decorator round every view, and what it is made of."""
