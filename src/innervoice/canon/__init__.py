"""The values everything else speaks: frozen, comparable, printable without their seals."""
