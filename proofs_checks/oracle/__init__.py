"""Independent solutions (NumPy, SciPy, fractions) that share no code with the library."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
