"""Your own data: our estimator, what a fit says, data frames, formulas, the door and the command.

It may import all that checks the paper, and no module there imports it. Start with `door.fit`.
"""
