"""Nouns and machinery of a run: cells, keys, seeds, the store, workers, manifests, progress.

This room imports `gladius` and `proofs_checks`, and no number of the paper. Its register names the
functions of all cells.
Start with `nouns`: a `Cell` is computed and stored, an `Exhibit` is drawn from cells.
"""
