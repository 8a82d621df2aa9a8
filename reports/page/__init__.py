"""`report.html`: one file that shows a whole run and needs nothing else."""
