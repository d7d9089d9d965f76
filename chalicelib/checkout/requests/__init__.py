"""The transactions that pay a request, alone or of a link, and the routes by which it can be paid."""
