"""A look inside an image, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rocenv.model.audit import Audit, Library, Verdict
from rocenv.report.text import one_line, size, table

Answer = dict[str, object]


def labels(libraries: Sequence[Library]) -> list[str]:
    """A name for each library, as short as tells them apart: `rocblas`, `rocblas tensile`, else with its folder."""
    short = [one.name if one.kind == "code" else f"{one.name} {one.kind}" for one in libraries]
    return [
        name if short.count(name) == 1 else f"{name} ({one.place})" for name, one in zip(short, libraries, strict=True)
    ]


def audit_json(
    reference: str, found: Audit, warnings: Sequence[str], verdicts: Mapping[str, Sequence[Verdict]], where: str
) -> Answer:
    """The contract of `rocenv audit --json`."""
    names = labels(found.libraries)
    return {
        "version": 1,
        "status": "ok",
        "reference": reference,
        "digest": found.digest,
        "id": found.identity,
        "read_from": where,
        "machine": found.machine,
        "os": found.system,
        "rocm": found.rocm[0].version if found.rocm else None,
        "hip": found.hip[0].version if found.hip else None,
        "gfx": {name: list(one.targets) for name, one in zip(names, found.libraries, strict=True)},
        "torch": {**_torch(found, 0), "all": [_torch(found, number) for number in range(len(found.torch))]},
        "triton": next((one.version for one in found.packages if "triton" in one.name), None),
        "pythons": [one._asdict() for one in found.pythons],
        "warnings": list(warnings),
        "verdicts": {gfx: _verdicts(names, judged) for gfx, judged in verdicts.items()},
        "libraries": [
            {"label": name, **one._asdict(), "targets": list(one.targets)}
            for name, one in zip(names, found.libraries, strict=True)
        ],
        "releases": {"rocm": [one._asdict() for one in found.rocm], "hip": [one._asdict() for one in found.hip]},
        "shared": {one.name: [path for path, _ in one.files] for one in found.shared},
        "packages": [one._asdict() for one in found.packages],
        "debian": dict(found.debian),
        "links": dict(found.links),
        **_run(found),
    }


def _run(found: Audit) -> Answer:
    """What a container of the image runs and as whom; what could not be read; how much there was."""
    return {
        "user": found.user,
        "groups": dict(found.groups),
        "workdir": found.workdir,
        "entrypoint": list(found.entrypoint),
        "command": list(found.command),
        "env": dict(found.env),
        "kpack_wanted": list(found.kpack_wanted),
        "unreadable": list(found.unreadable),
        "layers": found.layers,
        "entries": found.entries,
        "bytes": found.bytes,
    }


def _torch(found: Audit, number: int) -> Answer:
    if number >= len(found.torch):
        return {}
    return {**found.torch[number]._asdict(), "arch": list(found.torch[number].arch)}


def _verdicts(names: Sequence[str], judged: Sequence[Verdict]) -> Answer:
    return {
        name: {"verdict": one.verdict, "by": one.by, "note": one.note} for name, one in zip(names, judged, strict=True)
    }


def audit_text(
    reference: str, found: Audit, warnings: Sequence[str], verdicts: Mapping[str, Sequence[Verdict]], where: str
) -> str:
    """The same for people: what it is, what it carries, and what is wrong with it."""
    parts = [_facts(reference, found, where), _libraries(found)]
    parts += [_judgement(gfx, found, judged) for gfx, judged in verdicts.items() if judged]
    parts += ["\n".join(f"warning: {one_line(text)}" for text in warnings)] if warnings else []
    return "\n\n".join(parts)


def _facts(reference: str, found: Audit, where: str) -> str:
    rows = [
        ("image", [reference]),
        ("digest", [found.digest or f"{found.identity} (of its configuration)"]),
        ("read", [f"{found.entries} entries, {size(found.bytes)} unpacked, from {where}"]),
        ("os", [f"{found.system or 'unknown'} ({found.machine or 'unknown machine'})"]),
        ("ROCm", [f"{one.version}  {one.path}" for one in found.rocm] or ["no release is named"]),
        ("HIP", [f"{one.version}  {one.path}" for one in found.hip]),
        ("PyTorch", [_torch_line(found, number) for number in range(len(found.torch))]),
        ("packages", [f"{one.name} {one.version}" for one in found.packages if not one.name.startswith("nvidia-")]),
        ("Python", [f"{one.version or '?'}  {one.path} ({one.kind})" for one in found.pythons]),
        ("user", [_user(found)]),
        ("starts", [" ".join((*found.entrypoint, *found.command)) or "nothing of its own"]),
    ]
    lines = []
    for head, values in rows:
        shown = ", ".join(values) if head == "packages" else None
        for number, value in enumerate([shown] if shown else values):
            lines.append(f"{'' if number else head:<9} {one_line(value)}".rstrip())
    return "\n".join(lines)


def _torch_line(found: Audit, number: int) -> str:
    torch = found.torch[number]
    built = f"HIP {torch.hip}" if torch.hip else f"CUDA {torch.cuda}" if torch.cuda else "CPU"
    arch = f", built for {' '.join(torch.arch)}" if torch.arch else ""
    return f"{torch.version}  {torch.path} ({built}{arch})"


def _user(found: Audit) -> str:
    groups = ", ".join(f"{name} {gid}" for name, gid in found.groups.items())
    return f"{found.user}; groups: {groups or 'neither video nor render'}"


def _libraries(found: Audit) -> str:
    if not found.libraries:
        return "no code for GPUs was found"
    rows = [
        [one_line(one.name), one.kind, str(one.files), one_line(one.place), " ".join(one.targets)]
        for one in found.libraries
    ]
    return table(["library", "kind", "files", "in", "targets"], rows)


def _judgement(gfx: str, found: Audit, judged: Sequence[Verdict]) -> str:
    names = labels(found.libraries)
    rows = [[one_line(name), one.verdict, one_line(_why(one))] for name, one in zip(names, judged, strict=True)]
    return f"{gfx}: {_summary(judged)}\n" + table(["library", "verdict", "by"], rows)


def _why(one: Verdict) -> str:
    return "; ".join(filter(None, (one.by, one.note)))


def _summary(judged: Iterable[Verdict]) -> str:
    """How many libraries run how; MIOpen's databases only speed up, so that they do not count."""
    said = [one.verdict for one in judged if one.library.kind != "database"]
    counts = [(word, said.count(word)) for word in ("native", "generic", "override", "none")]
    return ", ".join(f"{count} {word}" for word, count in counts if count) or "no code for any GPU"
