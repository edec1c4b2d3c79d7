"""Your own data: our estimator, what a fit says, data frames, formulas, the door and the command.

It may import all that checks the paper, and no module there imports it. Start with `door.fit`.
"""

from gladius.register import METHODS

# Whoever imports this package, or asks for `gladius.METHODS`, has its method too.
METHODS |= {"profiled_erm": "gladius.own_data.erm.estimator"}
