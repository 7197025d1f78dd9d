"""The package of `foreign`, which old imports name."""
