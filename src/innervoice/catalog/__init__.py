"""Facts about hosts and models as rows of data, and how rows are looked up."""
