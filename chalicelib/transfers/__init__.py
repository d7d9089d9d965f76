"""Every transfer with a link's references, what it was, and how it is given back."""
