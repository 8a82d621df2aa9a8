"""`python -m tokbench` is the command of the interpreter that is named."""

from tokbench.bench.cli import main

if __name__ == "__main__":  # spawned workers import the main module again
    main(prog_name="tokbench")
