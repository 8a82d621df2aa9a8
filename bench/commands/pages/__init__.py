"""Parts of the documentation that come from the code: tables of keys, the page of metrics."""
