"""Bridges to other libraries; import each one by name. Importing one does not load the dependencies of the others."""
