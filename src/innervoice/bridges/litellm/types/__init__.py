"""The types, under the package name that litellm uses."""
