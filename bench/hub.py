"""How Hub libraries are to behave: set before any of them is imported.

`huggingface_hub`, `datasets` and `transformers` read these variables once, at import. A variable
that the user has set is left alone.
"""

from __future__ import annotations

import os
import sys

from bench.errors import UsageError

WAIT_SECONDS = 10
"""For the Hub to answer one question; a library may ask a few times."""

READ_SECONDS = 30
"""For the next bytes of a file."""

_DEFAULTS = {
    "HF_HUB_ETAG_TIMEOUT": str(WAIT_SECONDS),
    "HF_HUB_DOWNLOAD_TIMEOUT": str(READ_SECONDS),
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN_WARNING": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "USE_TORCH": "0",
    "USE_TF": "0",
    "USE_JAX": "0",
}
_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")


def set_up_hub(*, offline: bool = False) -> None:
    """Bound the libraries' waiting and, if asked, keep them from the network.

    Raises `UsageError` when it is too late, because one of them has been imported already.
    """
    late = [name for name in ("huggingface_hub", "datasets", "transformers") if name in sys.modules]
    if late and offline:
        raise UsageError(
            f"{late[0]} is imported already, so --offline comes too late; set HF_HUB_OFFLINE=1 "
            "before starting Python"
        )
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    for name in _OFFLINE if offline else ():
        os.environ[name] = "1"
