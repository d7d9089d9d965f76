"""HTTP: routes, requests, responses, and the steps that every operation shares."""
