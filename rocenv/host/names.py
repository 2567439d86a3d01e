"""What GPUs are called: libdrm's amdgpu.ids of the host, then the catalog; pci.ids for people alone."""

from __future__ import annotations

from collections.abc import Iterable

from rocenv.host.source import LARGE, Root

# Where distributions and AMD's packages put libdrm's table.
_TABLES = ("/usr/share/libdrm/amdgpu.ids", "/opt/amdgpu/share/libdrm/amdgpu.ids")
_PCI_TABLES = ("/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids", "/usr/share/pci.ids")
_VENDOR = "1002"
Product = tuple[str, int | None]  # `1002:744c` and the PCI revision


def marketing_names(root: Root, products: Iterable[Product]) -> dict[Product, str | None]:
    """The name of each product, None for one that no table holds."""
    wanted = set(products)
    names: dict[Product, str | None] = {}
    for table in _TABLES if wanted else ():
        if len(names) < len(wanted):
            names = {**_scan(root.data(table, LARGE) or b"", wanted), **names}
    missing = wanted - names.keys()
    if missing:
        from rocenv.catalog import gpus

        names.update({product: gpus.marketing_name(*product) for product in missing})
    return names


def _scan(table: bytes, wanted: set[Product]) -> dict[Product, str | None]:
    """The first line `device, revision, name` of each product that is wanted, upper or lower case."""
    keys = {
        f"{pci_id.partition(':')[2]},{revision:02x}": (pci_id, revision)
        for pci_id, revision in wanted
        if revision is not None and pci_id.startswith(_VENDOR)
    }
    found: dict[Product, str | None] = {}
    for line in table.decode(errors="replace").splitlines():
        device, _, rest = line.partition(",")
        revision, _, name = rest.partition(",")
        product = keys.get(f"{device.strip().lower()},{revision.strip().lower()}")
        if product is not None and name.strip():
            found.setdefault(product, name.strip())
    return found


def chip_names(root: Root, pci_ids: Iterable[str]) -> dict[str, str]:
    """What pci.ids of the host, else the catalog, calls each device that it knows. For people: no product, a chip."""
    wanted = set(pci_ids)
    if not wanted:
        return {}
    from rocenv.catalog import gpus

    table = next((data for path in _PCI_TABLES if (data := root.data(path, LARGE))), b"")
    found = {}
    for pci_id in wanted:
        name = _chip(table, *pci_id.split(":", 1)) or gpus.pci_name(pci_id)
        if name:
            found[pci_id] = name
    return found


def _chip(table: bytes, vendor: str, device: str) -> str | None:
    """The line `TAB device  name` in the block of a vendor, which begins at the start of a line."""
    start = table.find(f"\n{vendor}  ".encode())
    if start < 0:
        return None
    line = start + 1
    while True:
        line = table.find(b"\n", line) + 1
        if line == 0 or table[line : line + 1] not in (b"\t", b"#"):
            return None
        if table.startswith(f"\t{device}  ".encode(), line):
            end = table.find(b"\n", line)
            return table[line : end if end >= 0 else None].decode(errors="replace").strip()[len(device) :].strip()
