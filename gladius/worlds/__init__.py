"""Things that generate data and know the truth."""
