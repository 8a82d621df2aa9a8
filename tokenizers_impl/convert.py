"""Between what libraries take and what they return."""

from __future__ import annotations

import numpy as np

from bench.model import Ids


def as_list(ids: Ids) -> list[int]:
    """Return ids as a list of Python integers, which is what decoders take quickest.

    >>> as_list(np.array([1, 2], np.uint32))
    [1, 2]
    """
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
