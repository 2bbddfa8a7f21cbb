"""Reading a configuration: its file, the platforms it names, and its overrides of them."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cosim.config.background import check_background
from cosim.config.build import check_platforms, page_buffer_pages
from cosim.config.flash_build import check_flash
from cosim.config.flash_part import put_part
from cosim.config.model import Config, PlatformNames, Platforms, System
from cosim.config.part import Part, nearest, validate
from cosim.config.platform import PLATFORM_FOLDER, FpgaPlatform, HostPlatform, SsdPlatform
from cosim.config.yaml_source import KeyPath, YamlSource, dotted, read_yaml
from cosim.errors import UserError
from host.formats.mqsim import BlockRequest

__all__ = [
    "PLATFORM_FOLDER",
    "LoadedConfig",
    "check_backgrounds",
    "check_page_buffers",
    "default_platforms",
    "lasting_name",
    "load_config",
    "load_platform",
    "pack",
    "platform_file",
    "platform_names",
    "resolved_yaml",
    "unpack",
]

_MODELS: dict[str, type[Part]] = {"ssd": SsdPlatform, "fpga": FpgaPlatform, "host": HostPlatform}


@dataclass(frozen=True)
class LoadedConfig:
    """A configuration with its platforms, and the place of each of its keys for later messages."""

    config: Config
    platforms: Platforms
    source: YamlSource
    parts: Mapping[str, YamlSource] = field(default_factory=dict)
    """Where the constants of each platform stand."""

    def file(self, name: str) -> Path:
        """A file that the configuration names, relative to the configuration file."""
        return Path(self.source.file).parent / name


def load_config(path: Path | str) -> LoadedConfig:
    """Read and validate a configuration and its platforms.

    Raises
    ------
    UserError
        For the first thing wrong in any of the files, with file and line.
    """
    source = read_yaml(path)
    config: Config = validate(Config, source)
    overrides = config.platform_overrides
    try:
        return _load(source, config, overrides)
    except UserError as error:
        raise _of_override(error, source, config) from None


def _of_override(error: UserError, source: YamlSource, config: Config) -> UserError:
    """The error at the override without which there would be none, if a platform has its place."""
    overrides, base, message = config.platform_overrides, Path(source.file).parent, str(error)
    if message.startswith(f"{source.file}:"):
        return error
    for key in overrides:
        # Else it is of a file that an override names.
        file = platform_file(getattr(config.platforms, key.partition(".")[0]), base)
        if not message.startswith(f"{file}:"):
            continue
        try:
            _load(source, config, {other: overrides[other] for other in overrides if other != key})
        except UserError:
            continue
        here: KeyPath = ("platform_overrides", key)
        return UserError(f"{source.place(here)}: {dotted(here)}: {error}")
    return error


def _load(source: YamlSource, config: Config, overrides: Mapping[str, str | int]) -> LoadedConfig:
    base = Path(source.file).parent
    parts = {}
    for part in _MODELS:
        name = getattr(config.platforms, part)
        try:
            file = platform_file(name, base)
        except UserError as error:
            raise source.error(("platforms", part), str(error)) from None
        parts[part] = _read_part(file, part)
    # The constants of a part are there to be overridden once it is known which part it is.
    chosen = {key: value for key, value in overrides.items() if key.startswith("ssd.flash.")}
    _override(parts, source, chosen)
    put_part(parts["ssd"], base)
    _override(parts, source, {key: overrides[key] for key in overrides if key not in chosen})
    platforms = {part: validate(_MODELS[part], parts[part]) for part in parts}
    loaded = LoadedConfig(config, Platforms.model_construct(**platforms), source, parts)
    # A page buffer is counted in pages: these first.
    check_flash(loaded.platforms.ssd, parts["ssd"])
    # A share is of a graph that is not known here; any that is large enough will do.
    check_page_buffers(loaded, 1 << 62)
    check_platforms(loaded.platforms, config.systems, parts)
    return loaded


def check_page_buffers(loaded: LoadedConfig, edge_bytes: int) -> None:
    """Refuse systems whose page buffer holds no page, for an edge list array of ``edge_bytes``.

    Raises
    ------
    UserError
        With the line of the system.
    """
    for place, system in _places(loaded):
        if system.page_buffer is None:
            continue
        try:
            page_buffer_pages(loaded.platforms.ssd, system, edge_bytes)
        except ValueError as error:
            key: KeyPath = ("systems", place, "page_buffer")
            message = str(error).removeprefix("page_buffer ")
            raise loaded.source.error(key, message) from None


def check_backgrounds(
    loaded: LoadedConfig,
    edge_bytes: int,
    requests: Mapping[str, tuple[BlockRequest, ...]],
) -> None:
    """Refuse a background load that its SSD cannot have beside lists of ``edge_bytes``.

    ``requests`` are those of traces, by the name of the system.

    Raises
    ------
    UserError
        With the line of the key.
    TraceError
        With the line of the trace.
    """
    for place, system in _places(loaded):
        if system.background is None:
            continue
        found = requests.get(system.name, ())
        try:
            check_background(loaded.platforms.ssd, system.background, edge_bytes, found)
        except ValueError as error:
            name, _, message = str(error).partition(" ")
            key: KeyPath = ("systems", place, "background", name)
            raise loaded.source.error(key, message) from None


def _places(loaded: LoadedConfig) -> Iterator[tuple[int, System]]:
    """Each system that is written in the file, with its place there."""
    written = loaded.source.values.get("systems", [])
    places = {item.get("name", item.get("kind")): place for place, item in enumerate(written)}
    for system in loaded.config.systems:
        if system.name in places:
            yield places[system.name], system


def platform_names() -> list[str]:
    """Names of the platforms that come with the package."""
    return sorted(path.stem for path in PLATFORM_FOLDER.glob("*.yaml"))


def platform_file(name: str, base: Path = Path()) -> Path:
    """File of a platform: one of ours by name, or a ``*.yaml`` file relative to ``base``."""
    if name.endswith(".yaml"):
        return base / name
    if name not in platform_names():
        raise UserError(
            f"must be the name of a platform or a .yaml file, not {name!r}"
            f"{nearest(name, platform_names())}"
        )
    # Where the package lies is nobody's business in a message: shown relative where possible.
    return Path(os.path.relpath(PLATFORM_FOLDER / f"{name}.yaml"))


def lasting_name(name: str) -> str:
    """The name of a platform that holds in any folder: that of a file is its whole path."""
    return str(Path(name).resolve()) if name.endswith(".yaml") else name


def load_platform(name: str, *, operations: str | None = None) -> Any:
    """One platform of any part; ``operations`` takes the place of ``flash.operations``.

    Raises
    ------
    UserError
        If there is none of that name, or its file is not valid.
    """
    try:
        file = platform_file(name)
    except UserError as error:
        raise UserError(f"platform {error}") from None
    source = read_yaml(file)
    part = source.values.get("part")
    if part not in _MODELS:
        raise source.error(("part",), f"must be one of {', '.join(_MODELS)}, not {part!r}")
    if part == "ssd":
        if operations is not None:
            source.values["flash"]["operations"]["value"] = operations
        put_part(source)
    return validate(_MODELS[part], source)


def default_platforms() -> Platforms:
    """The platforms of a configuration that names none."""
    names = PlatformNames()
    return Platforms.model_construct(**{p: load_platform(getattr(names, p)) for p in _MODELS})


def resolved_yaml(loaded: LoadedConfig, own: Mapping[str, Any] | None = None) -> str:
    """The whole configuration with every default and every platform constant, as YAML.

    ``own`` has the digests of users' blocks, by system and key.
    """
    values = loaded.config.model_dump(mode="json", exclude={"platforms", "platform_overrides"})
    for system in values["systems"]:
        for key, digests in (own or {}).get(system["name"], {}).items():
            system[key]["sha256"] = dict(digests)
    values["platforms"] = {
        part: getattr(loaded.platforms, part).model_dump(mode="json", exclude_none=True)
        for part in _MODELS
    }
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)


def pack(loaded: LoadedConfig) -> dict[str, Any]:
    """Make everything that was read into plain JSON values, for another process.

    That process must not read the files again: they may have been edited since.
    """
    return {
        "file": str(Path(loaded.source.file).resolve()),
        "config": loaded.config.model_dump(mode="json"),
        "platforms": {
            part: getattr(loaded.platforms, part).model_dump(mode="json") for part in _MODELS
        },
    }


def unpack(values: dict[str, Any]) -> LoadedConfig:
    """What :func:`pack` was given, but for the lines of its keys."""
    platforms: dict[str, Any] = {
        part: model.model_validate(values["platforms"][part]) for part, model in _MODELS.items()
    }
    return LoadedConfig(
        Config.model_validate(values["config"]),
        Platforms.model_construct(**platforms),
        YamlSource(values["file"], {}),
    )


def _read_part(file: Path, part: str) -> YamlSource:
    source = read_yaml(file)
    if source.values.get("part") != part:
        raise source.error(("part",), f"must be {part!r}, not {source.values.get('part')!r}")
    return source


def _override(
    parts: dict[str, YamlSource], config: YamlSource, overrides: Mapping[str, str | int]
) -> None:
    """Put the configuration's values into the platforms; messages name the configuration's line."""
    for key, value in overrides.items():
        here: KeyPath = ("platform_overrides", key)
        part, *path = key.split(".")
        if part not in parts:
            raise config.error(here, f"must begin with one of {', '.join(parts)}, not {part!r}")
        constant = _constant(parts[part].values, tuple(path), config, here)
        constant.update(value=value, source="configuration of the run", mark="configured")
        parts[part].places[(*path, "value")] = config.place(here)
        parts[part].labels[(*path, "value")] = dotted(here)


def _constant(values: Any, path: KeyPath, config: YamlSource, here: KeyPath) -> dict[str, Any]:
    for depth, name in enumerate(path):
        known = [] if "value" in values else [k for k, v in values.items() if isinstance(v, dict)]
        known = [key for key in known if depth or key != "sources"]
        if name not in known:
            where = ".".join(str(part) for part in path[:depth]) or "the platform"
            hint = nearest(str(name), known) if known else "; it is a constant itself"
            raise config.error(here, f"is not a constant: {where} has no {name!r}{hint}")
        values = values[name]
    if "value" not in values:
        raise config.error(here, f"must name one constant; known are {', '.join(values)}")
    return values
