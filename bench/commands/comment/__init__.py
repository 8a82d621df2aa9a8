"""One comment on a pull request, made once and then updated, or a part of its description."""
