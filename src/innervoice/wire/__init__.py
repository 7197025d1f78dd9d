"""Converts between frames and canonical values: one folder for each dialect."""
