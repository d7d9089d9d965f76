"""HTTP: who is asking, what for; parse in, shape out."""
