"""What a comment holds: a mark that finds it again, and a text that fits."""

from __future__ import annotations

import re

from tokbench.bench.errors import UsageError
from tokbench.bench.markup import plural

MOST_BYTES = 60_000
"""GitHub takes 65,536 characters in a comment or a description."""
MOST_CHARACTERS = 65_536
NAME = re.compile(r"[\w .-]{1,80}", re.ASCII)
LEFT_OUT = "\n\nThe rest does not fit here.\n"


def marker(name: str) -> str:
    """Return the first line of the comment of that name, which no reader sees.

    >>> marker("prompts")
    '<!-- tokbench: prompts -->'
    """
    if not NAME.fullmatch(name) or "--" in name:
        raise UsageError(f"--name {name!r}: use letters, digits, spaces, dots and single hyphens")
    return f"<!-- tokbench: {name} -->"


def end_marker(name: str) -> str:
    """Return the last line of a part of a description.

    >>> end_marker("prompts")
    '<!-- end of tokbench: prompts -->'
    """
    return marker(name).replace("tokbench", "end of tokbench", 1)


def shown(text: str, *, as_code: bool) -> str:
    """Return text cut to what fits, without comments of HTML; as code nothing in it is markup.

    >>> print(shown("@you ``` <b>", as_code=True))
    ````text
    @you ``` <b>
    ````
    """
    fitted = _fitted(text.strip())
    if not as_code:
        return fitted.replace("<!--", "&lt;!--")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", fitted)), default=0))
    return f"{fence}text\n{fitted}\n{fence}"


def _fitted(text: str) -> str:
    data = text.encode(errors="replace")
    if len(data) <= MOST_BYTES:
        return data.decode()
    return data[: MOST_BYTES - len(LEFT_OUT)].decode(errors="ignore") + LEFT_OUT


def with_part(description: str, name: str, text: str) -> str:
    """Return a description in which the part of that name is this text; added if it is not there.

    >>> print(with_part("Mine.", "a", "2 tokens"))
    Mine.
    <BLANKLINE>
    <!-- tokbench: a -->
    2 tokens
    <!-- end of tokbench: a -->
    >>> with_part(with_part("Mine.", "a", "2"), "a", "3") == with_part("Mine.", "a", "3")
    True
    """
    first, last = marker(name), end_marker(name)
    part = f"{first}\n{text}\n{last}"
    before, found, rest = description.partition(first)
    if found:
        _, closed, after = rest.partition(last)
        whole = f"{before}{part}{after if closed else rest}"
    else:
        whole = f"{description.rstrip()}\n\n{part}".lstrip()
    if len(whole) > MOST_CHARACTERS:
        raise UsageError(
            f"the description would have {plural(len(whole), 'character')}, more than "
            f"{MOST_CHARACTERS:,}: use a comment"
        )
    return whole
