"""What the probes ask: numbers, words, code fragments and other strings, all made here.

Everything is fixed or drawn from the run's seed, so that every tokenizer gets the same strings.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

NUMBERS_EACH = 50
MAX_DIGITS = 12

WORDS: Mapping[str, Sequence[str]] = {
    "English": (
        "water", "house", "strawberry", "necessary", "rhythm", "language", "beautiful",
        "government", "mississippi", "tomorrow", "knowledge", "banana", "committee", "science",
        "unhappiness", "bookkeeper", "queue", "onomatopoeia", "straightforward", "through",
    ),
    "Spanish": ("desarrollo", "pequeño", "corazón", "murciélago", "también", "ferrocarril"),
    "German": ("Straße", "Geschwindigkeit", "Möglichkeit", "Zusammenhang", "schön", "Fußgänger"),
    "Turkish": ("öğretmenlerimiz", "gelebileceğim", "çalışıyorum", "güzelliğin"),
    "Russian": ("здравствуйте", "правительство", "молоко", "достопримечательность"),
    "Greek": ("καλημέρα", "ευχαριστώ", "θάλασσα"),
    "Arabic": ("مدرسة", "الاستقلال", "كتاب"),
    "Hindi": ("नमस्ते", "विश्वविद्यालय", "पानी"),
    "Korean": ("안녕하세요", "도서관", "사람"),
}  # fmt: skip
"""Ordinary words by language, to ask how many of their letters a token hides."""

CASED = (
    "house", "water", "London", "python", "computer", "monday", "school", "language", "internet",
    "winter", "doctor", "music", "station", "window", "yellow", "kitchen", "market", "button",
    "number", "garden",
)  # fmt: skip
VARIANTS: Mapping[str, Callable[[str], str]] = {
    "lower": str.lower,
    "title": str.title,
    "upper": str.upper,
    "space_lower": lambda word: f" {word.lower()}",
    "space_title": lambda word: f" {word.title()}",
    "space_upper": lambda word: f" {word.upper()}",
}

INDENTS = {
    "2 spaces": "  ",
    "4 spaces": "    ",
    "8 spaces": "        ",
    "12 spaces": " " * 12,
    "16 spaces": " " * 16,
    "1 tab": "\t",
    "2 tabs": "\t\t",
    "3 tabs": "\t\t\t",
    "tab and 4 spaces": "\t    ",
    "4 spaces and tab": "    \t",
}
STATEMENT = "x = 1"

STRINGS: Mapping[str, Sequence[str]] = {
    "decimals": ("3.14159", "0.5", "2.71828", "1e-9", "-273.15", "6.022e23", "99.99", "0.001"),
    "separated_numbers": ("1,000", "12,345", "1,000,000", "1.234.567", "10 000", "1_000_000", "12,34,567"),
    "dates": ("2024-02-29", "29/02/2024", "02/29/24", "Feb 29, 2024", "29. Februar 2024", "2024年2月29日", "2024-02-29T23:59:59Z"),
    "times": ("23:59", "11:59 PM", "08:05:09.123", "+02:00"),
    "urls": (
        "https://example.com/", "http://www.example.org/a/b/c.html?x=1&y=2#top",
        "ftp://files.example.net/pub/archive-2.1.tar.gz", "https://example.com/%E6%97%A5%E6%9C%AC",
        "mailto:someone@example.com",
    ),
    "hexadecimal": ("0xDEADBEEF", "0x7fff", "deadbeefcafe", "#ff8800", "e3b0c44298fc1c149afbf4c8996fb924", "550e8400-e29b-41d4-a716-446655440000"),
    "base64": ("SGVsbG8sIHdvcmxkIQ==", "VG9rZW5pemVycyBjdXQgdGV4dA=="),
    "paths": ("/usr/local/lib/python3.12/site-packages", "C:\\Users\\name\\file.txt", "../src/main.rs"),
    "repeated": ("aaaaaaaaaaaaaaaa", "hahahahahaha", "................", "----------------", "!!!!!!!!", "nooooooooo", "zzzzzzzz"),
    "emoji": ("😀", "🙏", "❤️", "👍🏽", "👩‍💻", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇯🇵", "🫠", "1️⃣"),
    "mathematics": ("∑ᵢ xᵢ² ≤ ∞", "∀x∈ℝ", "√2 ≈ 1.414", "α + β → γ", "\\frac{1}{2}"),
}  # fmt: skip
"""Strings of several kinds; how many tokens each takes."""


def numbers(seed: int, digits: int) -> list[str]:
    """Return numbers of so many digits: all ten of one digit, else distinct drawn ones.

    >>> len(numbers(0, 1)), {len(n) for n in numbers(0, 5)}
    (10, {5})
    """
    if digits == 1:
        return [str(n) for n in range(10)]
    rng = random.Random(f"{seed}/numbers/{digits}")
    low, high = 10 ** (digits - 1), 10**digits - 1
    return [str(n) for n in sorted(rng.sample(range(low, high + 1), NUMBERS_EACH))]


YEARS = tuple(map(str, range(1900, 2051)))
