"""What is for data of your own, beyond the paper: our estimator, `fit`, and what a fit says.

These rooms import only those above them in this list, and any of what checks the paper but the
designs, which know the truth. Nothing there imports this package; `gladius` names it instead.

- `erm`: profiled ERM, our own estimator of the paper's risk, and the default of `fit`;
- `formula` and `frame`: rewards written as formulas, and data read from and written to tables;
- `results`: parameters with their errors, predictions, counterfactuals, figures, saved files;
- `door`: `fit`, which checks what is given, calls a method and returns Results. Start with it;
- `markov`: a test of whether the observed states suffice;
- `command`: `python -m gladius`. For users, `your_data.md` explains all of them.
"""

from gladius.register import METHODS

# Whoever imports this package, or asks for `gladius.METHODS`, has its method too.
METHODS |= {"profiled_erm": "gladius.own_data.erm.estimator"}
