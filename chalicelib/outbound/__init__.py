"""HTTP requests to addresses that users gave."""
