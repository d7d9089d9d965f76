"""Personal data: the data key of each person, what is sealed with it, and the destruction of the key."""
