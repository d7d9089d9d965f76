"""pydantic models of bodies, queries and answers; the OpenAPI document is generated from them."""
