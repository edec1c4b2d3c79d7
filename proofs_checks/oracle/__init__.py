"""Independent solutions (NumPy, SciPy, fractions) that share no code with the library.

This room imports nothing of the project. Start with `soft_bellman`.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
