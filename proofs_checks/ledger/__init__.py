"""The ledger: a row for each claim, a page for each section of the paper, and the errata.

This room imports the claims and the certificates, and no check. Start with `ledger`, which makes
the rows. `pages` makes texts of them, `wording` has the words, and `graph` how far an
error reaches.
"""
