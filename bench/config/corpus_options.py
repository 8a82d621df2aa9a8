"""Parts of an entry below `corpora`: languages, limits, samples, joins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ByteSize, ConfigDict, Field, PositiveInt
from pydantic_core import PydanticCustomError

from tokbench.bench.markup import did_you_mean


def as_text(value: object) -> object:
    """Return text as it is; refuse numbers and booleans."""
    if isinstance(value, str):
        return value
    raise PydanticCustomError(
        "text_expected",
        'this must be text, not {what}; write it in quotes: "{value}"',
        {"what": "nothing" if value is None else type(value).__name__, "value": str(value)},
    )


Text = Annotated[str, BeforeValidator(as_text, json_schema_input_type=str)]
"""Text, and never a number or a boolean that looks like it."""


class Entry(BaseModel):
    """Base of the models below `corpora`: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class LanguageOptions(Entry):
    """Options of one language of a corpus."""

    config: Text | None = Field(
        None,
        description="Config of the data set (source `huggingface`). Plain text is shorthand for "
        "it.",
    )
    file: Text | None = Field(
        None, description="Path or glob (source `files`). Plain text is shorthand for it."
    )
    text: Text | None = Field(None, description="Column that holds this language's text.")
    tag: Text | None = Field(None, description="BCP-47 tag, if the key is not a language code.")
    where: dict[Text, Text] | None = Field(
        None,
        description="Rows of this language: values by column, in addition to those of the corpus.",
    )


class Limit(Entry):
    """Limit of a sample, in whole documents."""

    rows: PositiveInt | None = Field(None, description="Number of rows.")
    bytes: ByteSize | None = Field(
        None,
        gt=0,
        description="Maximum UTF-8 bytes of text: a number, or text such as `10 MB`.",
    )


class Reservoir(Entry):
    """A uniform sample that does not depend on the order of rows.

    The rows whose ids have the smallest hash under the seed are kept, so all languages of a
    parallel corpus keep the same ids.
    """

    method: Literal["reservoir"] = Field(description="The sampling rule.")
    seed: int = Field(0, ge=0, lt=2**64, description="Seed of the hash that orders the ids.")


class Join(Entry):
    """Rows made into one document per language, with these texts between them."""

    rows: Text = Field(description="Text between two rows of one split or file.")
    end_of_split: Text = Field("", description="Text after the last row of each split or file.")
    splits: Text = Field("", description="Text between two splits or files.")


def spell_out_languages(value: object) -> object:
    """Return languages as a map from key to options, from a list or a map with empty values."""
    if isinstance(value, str):
        raise PydanticCustomError("languages", "write a list: [{value}]", {"value": value})
    if isinstance(value, list | tuple):
        if twice := sorted({str(key) for key in value if value.count(key) > 1}):
            raise PydanticCustomError(
                "twice", "language {key} is listed twice; keep one", {"key": repr(twice[0])}
            )
        return {as_text(key): {} for key in value}
    if isinstance(value, Mapping):
        return {as_text(key): {} if options is None else options for key, options in value.items()}
    return value


LANGUAGES_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
        {
            "type": "object",
            "additionalProperties": {
                "anyOf": [
                    {"type": "string"},
                    {"type": "null"},
                    {
                        "type": "object",
                        "properties": {
                            name: {"description": field.description}
                            | (
                                {"type": "object", "additionalProperties": {"type": "string"}}
                                if name == "where"
                                else {"type": "string"}
                            )
                            for name, field in LanguageOptions.model_fields.items()
                        },
                        "additionalProperties": False,
                    },
                ]
            },
        },
    ]
}

_SAMPLES = ("all", "head", "reservoir")


def spell_out_sample(value: object) -> object:
    """Return the full form of a sampling rule that is given by name."""
    if value == "reservoir":
        return {"method": "reservoir"}
    if isinstance(value, str) and value not in _SAMPLES:
        raise PydanticCustomError(
            "sample",
            "unknown sampling rule {value}{hint}; use all, head or reservoir",
            {"value": repr(value), "hint": did_you_mean(value, _SAMPLES)},
        )
    return value
