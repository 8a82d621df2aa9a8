"""Many runs as a static site: an index, a page for each run, a leaderboard."""
