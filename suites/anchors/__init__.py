"""Published figures and claims, derived again."""
