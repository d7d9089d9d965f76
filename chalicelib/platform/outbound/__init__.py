"""HTTP requests to URLs that users entered."""
