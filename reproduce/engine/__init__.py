"""Nouns and machinery of a run: cells, keys, seeds, the store, workers, manifests, progress.

This room knows no exhibit and no number of the paper. It imports `gladius` and `proofs_checks`.
Start with `nouns`: a `Cell` is computed and stored, an `Exhibit` is drawn from cells.
"""
