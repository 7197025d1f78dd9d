"""What is private, and how it is shown: one redactor for the screen, for files that are handed on, and for logs."""
