"""Base of the configuration models, and the one place where their errors become one line."""

import difflib
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from cosim.config.yaml_source import KeyPath, YamlSource
from cosim.errors import UserError

__all__ = ["Items", "Part", "nearest", "validate"]

T = TypeVar("T")


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Items = Annotated[tuple[T, ...], BeforeValidator(_as_tuple)]
"""A YAML list."""


class Part(BaseModel):
    """Frozen, strictly typed, no unknown keys (they are answered with the nearest known)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _known_keys(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, dict):
            for key in data:
                if key not in cls.model_fields:
                    raise PydanticCustomError(
                        "unknown_key",
                        "{message}",
                        {"key": key, "message": f"is not a key{nearest(key, cls.model_fields)}"},
                    )
        return handler(data)


def nearest(word: str, known: Any) -> str:
    """Tail of a message about an unknown word: the nearest known one, or all of them."""
    if not known:
        return "; there are none"
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(sorted(known))}"


def validate(model: type[Part], source: YamlSource, path: KeyPath = ()) -> Any:
    """Make ``model`` from what stands at ``path`` of ``source``.

    Raises
    ------
    UserError
        For the first thing wrong, with its file and line.
    """
    values: Any = source.values
    for part in path:
        values = values[part]
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise _explain(source, path, error.errors()[0]) from None


def _explain(source: YamlSource, base: KeyPath, detail: ErrorDetails) -> UserError:
    context = detail.get("ctx", {})
    path = (*base, *_keys(source, base, detail))
    if detail["type"] == "unknown_key":
        return source.error((*path, context["key"]), context["message"])
    if detail["type"] == "union_tag_not_found":
        return source.error(path, f"must give {context['discriminator']}")
    if detail["type"] == "union_tag_invalid":
        key = context["discriminator"].strip("'")
        message = f"must be one of {context['expected_tags']}, not {context['tag']!r}"
        return source.error((*path, key), message)
    if detail["type"] == "value_error":
        return source.error(path, str(context["error"]))
    if detail["type"] == "missing":
        return source.error(path, "must be given")
    return source.error(path, f"{_obligation(detail, context)}, not {_found(detail['input'])}")


def _keys(source: YamlSource, base: KeyPath, detail: ErrorDetails) -> KeyPath:
    """Location without the parts that name a model of a union instead of a key."""
    location = detail["loc"]
    values: Any = source.values
    for part in base:
        values = values[part]
    keys: list[int | str] = []
    for part in location:
        in_list = isinstance(values, list) and isinstance(part, int) and part < len(values)
        if in_list or (isinstance(values, dict) and part in values):
            values = values[part]
        elif detail["type"] != "missing" or part is not location[-1]:
            continue
        keys.append(part)
    return tuple(keys)


def _obligation(detail: ErrorDetails, context: dict[str, Any]) -> str:
    messages = {
        "int_type": "must be an integer",
        "int_from_float": "must be an integer",
        "string_type": "must be text",
        "bool_type": "must be true or false",
        "tuple_type": "must be a list",
        "dict_type": "must be a mapping of keys",
        "model_type": "must be a mapping of keys",
        "model_attributes_type": "must be a mapping of keys",
        "greater_than_equal": "must be at least {ge}",
        "greater_than": "must be greater than {gt}",
        "less_than_equal": "must be at most {le}",
        "less_than": "must be less than {lt}",
        "literal_error": "must be {expected}",
        "too_short": "must have at least {min_length} items",
        "string_too_short": "must not be empty",
        "string_pattern_mismatch": "must match {pattern}",
    }
    message = messages.get(detail["type"])
    return message.format(**context) if message else f"must be valid ({detail['msg']})"


def _found(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping of keys"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if value is None:
        return "nothing"
    return str(value).lower() if isinstance(value, bool) else repr(value)
