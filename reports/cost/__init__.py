"""What a run's text costs under a model of the user's: money, context, FLOPs, memory, losses."""
