"""What a fit says: parameters, intervals, tests, predictions, counterfactuals, figures, files.

This room imports the estimators whose errors it computes, and all below them. Start with
`results.Results`, which `gladius.fit` returns.
"""
