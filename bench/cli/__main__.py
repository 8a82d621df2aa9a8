"""`python -m bench.cli` is the command of the interpreter that is named."""

from bench.cli import main

main(prog_name="tokbench")
