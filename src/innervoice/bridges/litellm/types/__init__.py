"""The types, where litellm has them."""
