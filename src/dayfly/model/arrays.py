"""The array types that the rooms exchange."""

from typing import Any

import numpy as np
import numpy.typing as npt

#: Floats, one per source: shape (n_sources,).
Array = npt.NDArray[np.float64]
#: Row numbers of sources, best first.
Rows = npt.NDArray[np.integer[Any]]
#: One truth value per source.
Mask = npt.NDArray[np.bool_]
