"""The values that all other modules use: frozen, comparable, printable without their seals."""
