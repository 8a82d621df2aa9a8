"""What `tokbench` and `tokbench.plugins` offer."""

from __future__ import annotations

import subprocess
import sys

import tokbench.plugins


def test_every_name_for_plug_ins_can_be_imported() -> None:
    assert sorted(tokbench.plugins.__all__) == dir(tokbench.plugins)
    missing = [name for name in tokbench.plugins.__all__ if not hasattr(tokbench.plugins, name)]
    assert missing == []


def test_importing_the_names_for_plug_ins_loads_no_library() -> None:
    code = "import sys, tokbench.plugins; print(sorted({'numpy', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
