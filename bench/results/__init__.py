"""The files of a run: written once, read by everything else."""
