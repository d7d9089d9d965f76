"""What transactions do, in words, from the bytes that are signed."""
