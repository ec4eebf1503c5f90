"""Checks recorded Messages API requests against the types of the official SDK.

    validate.py FILE...     each file holds one request body per line (JSON)

The SDK describes requests as TypedDicts. They are walked here rather than handed to pydantic, because
pydantic ignores unknown keys and validates `Iterable` lazily: both would let wrong requests pass.
Exit code: 0 when every request conforms, 1 when one does not (each finding on a line), 2 on wrong use.
"""

import collections.abc
import functools
import json
import os
import sys
import types
import typing

import typing_extensions
from anthropic import BaseModel
from anthropic.types.message_create_params import MessageCreateParamsStreaming


def main(paths):
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    checked = wrong = 0
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                checked += 1
                findings = check(json.loads(line), MessageCreateParamsStreaming, "body")
                wrong += bool(findings)
                for finding in findings:
                    print(f"{path}:{number}: {finding}")
    print(f"{checked} requests checked, {wrong} wrong")
    return 1 if wrong or not checked else 0


def check(value, expected, where) -> list[str]:
    """All the ways in which `value` is not an `expected`."""
    expected = unwrap(expected)
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if expected in (typing.Any, object):
        return []
    if expected is None or expected is type(None):
        return [] if value is None else [f"{where}: must be null"]
    if typing_extensions.is_typeddict(expected):
        return check_fields(value, expected, where)
    if origin is typing.Literal or origin is typing_extensions.Literal:
        return [] if value in arguments else [f"{where}: {value!r} is none of {arguments}"]
    if origin in (typing.Union, types.UnionType):
        return check_union(value, arguments, where)
    if origin in (dict, collections.abc.Mapping):
        if not isinstance(value, dict):
            return [f"{where}: must be an object"]
        return [finding for key, item in value.items() for finding in check(item, arguments[1], f"{where}.{key}")]
    if is_sequence(expected, origin):
        if not isinstance(value, list):
            return [f"{where}: must be a list"]
        return [
            finding for index, item in enumerate(value) for finding in check(item, arguments[0], f"{where}[{index}]")
        ]
    if expected is float:
        return [] if isinstance(value, (int, float)) and not isinstance(value, bool) else [f"{where}: must be a number"]
    if expected is int:
        return [] if isinstance(value, int) and not isinstance(value, bool) else [f"{where}: must be an integer"]
    if isinstance(expected, type):
        return [] if isinstance(value, expected) else [f"{where}: must be of type {expected.__name__}"]
    if origin is os.PathLike or origin is typing.IO:
        return [f"{where}: {expected} cannot be JSON"]
    raise TypeError(f"no rule for {expected!r} at {where}")


def check_fields(value, expected, where):
    if not isinstance(value, dict):
        return [f"{where}: must be an object"]
    fields = fields_of(expected)
    findings = [f"{where}.{key}: is missing" for key in required_of(expected) if key not in value]
    # `extra_items` marks the few open objects, such as JSON schemas.
    open_object = getattr(expected, "__extra_items__", typing_extensions.NoExtraItems) not in (
        typing_extensions.NoExtraItems,
        typing.Never,
    )
    for key, item in value.items():
        if key in fields:
            findings += check(item, fields[key], f"{where}.{key}")
        elif not open_object:
            findings.append(f"{where}.{key}: is not a field of {expected.__name__}")
    return findings


def check_union(value, members, where):
    # The SDK also takes its own response objects; on the wire there are none.
    members = [member for member in members if not (isinstance(member, type) and issubclass(member, BaseModel))]
    failures = [check(value, member, where) for member in members]
    if any(not failure for failure in failures):
        return []
    # The member whose `type` fits is the one that was meant.
    if isinstance(value, dict) and "type" in value:
        meant = [failure for failure in failures if not any(f"{where}.type:" in finding for finding in failure)]
        failures = meant or [[f"{where}.type: unknown kind {value['type']!r}"]]
    # A finding inside the value says more than one about its outer type.
    inside = [failure for failure in failures if not any(finding.startswith(f"{where}: ") for finding in failure)]
    return min(inside or failures, key=len)


@functools.cache
def fields_of(expected):
    return typing_extensions.get_type_hints(expected, include_extras=True)


@functools.cache
def required_of(expected):
    """`__required_keys__` overlooks Required and NotRequired where annotations are strings, as they are in the SDK."""
    origins = {key: typing.get_origin(hint) for key, hint in fields_of(expected).items()}
    required = {key for key, origin in origins.items() if origin in (typing_extensions.Required, typing.Required)}
    optional = {key for key, origin in origins.items() if origin in (typing_extensions.NotRequired, typing.NotRequired)}
    return sorted((expected.__required_keys__ | required) - optional)


def unwrap(expected):
    """Takes off Required, NotRequired, Annotated, type aliases and new types."""
    while True:
        origin = typing.get_origin(expected)
        if origin in (typing_extensions.Required, typing_extensions.NotRequired, typing.Required, typing.NotRequired):
            expected = typing.get_args(expected)[0]
        elif origin in (typing.Annotated, typing_extensions.Annotated):
            expected = typing.get_args(expected)[0]
        elif isinstance(expected, typing_extensions.TypeAliasType):
            expected = expected.__value__
        elif hasattr(expected, "__supertype__"):
            expected = expected.__supertype__
        else:
            return expected


def is_sequence(expected, origin):
    if origin in (list, collections.abc.Iterable, collections.abc.Sequence):
        return True
    return getattr(origin or expected, "__name__", "") == "SequenceNotStr"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
