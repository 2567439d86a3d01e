"""Cut the device code of other targets out of an image: data files by their names, bundles in and out of programs."""

import hashlib
import json
import mmap
import os
import re
import shutil
import struct
import sys
import zlib

BUNDLE, PACKED, WRAPPER = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", 0x48495046
PAGE, LOAD, PHDR, NOBITS, RELA, SYMBOL, RELATIVE, AMDGPU = 4096, 1, 6, 8, 4, 1, 8, 224
BROKEN = (struct.error, zlib.error)
REPORT = "/etc/rocenv/slim.json"
ELSEWHERE = ("/proc", "/sys", "/dev", "/run", "/tmp")
NAMED = re.compile(
    r".*/(?:rocblas|hipblaslt|hipsparselt|hiptensor)/(?:[0-9.]+/)?library/(.+[.](?:co|hsaco|dat)(?:[.]gz|[.]zlib)?)"
    r"|.*/miopen/db/(gfx[^/]+)|.*/aotriton[.]images/amd-(gfx[^/]+)/.+|.*/[.]kpack/[^/]*_(gfx[^/]+)[.]kpack"
)
TOKEN = re.compile(r"gfx(?:[0-9]+(?:-[0-9]+)?-generic|[0-9a-fx]{3,})|amdgcnspirv")
OWN = re.compile(r"(?i)(path|home|hostname|pwd|oldpwd|shlvl|term|_|container|lc_ctype|.*_proxy|buildkit_.*)")


def fail(said, mend):
    sys.exit(f"error: rocenv: {said}\n\nhint: {mend}")


def fits(token, target):
    """Whether what a name says is for a target: gfx942130 (its units behind it), gfx11xx (a family), gfx11-generic."""
    if token.endswith("-generic"):
        series = token[3:-8].replace("-", "")
        return target[3:].startswith((series, "95") if series == "94" else series)
    if token == "amdgcnspirv" or token.startswith(target):
        return True
    return "x" in token[3:] and re.fullmatch(token[3:].replace("x", "[0-9a-f]"), target[3:]) is not None


class Cut:
    """What is kept, and what was found: `wanted` has for each target the machine numbers of code that fits it."""

    def __init__(self, wanted):
        self.wanted, self.seen, self.kept = wanted, set(), set()
        self.removed = self.rewritten = self.left = 0

    def named(self, token):
        """Whether a file whose name has this word in it stays."""
        self.seen.add(token)
        stays = [target for target in self.wanted if fits(token, target)]
        self.kept.update(stays)
        return bool(stays)

    def entries(self, names):
        """Of a bundle's entries those that stay: the host's, each target's own, what is generic where it has none."""
        code = {name: TOKEN.findall(name)[-1] for name in names if TOKEN.search(name)}
        stay = {name for name in names if name not in code}
        for target in self.wanted:
            own = {name for name, token in code.items() if token == target}
            found = own or {name for name, token in code.items() if fits(token, target)}
            stay |= found
            self.kept.update([target] if found else [])
        self.seen.update(code.values())
        return stay

    def bundle(self, data):
        """A plain bundle without what does not stay, and how many entries with code are left; code is as it was."""
        count, at, entries = struct.unpack_from("<Q", data, 24)[0], 32, []
        for _ in range(count):
            offset, size, width = struct.unpack_from("<QQQ", data, at)
            entries.append((bytes(data[at + 24 : at + 24 + width]), offset, size))
            at += 24 + width
        stay = self.entries([name.decode("ascii") for name, _, size in entries if size])
        kept = [one for one in entries if not one[2] or one[0].decode("ascii") in stay]
        head, body = BUNDLE + struct.pack("<Q", len(kept)), b""
        start = -(-(32 + sum(24 + len(name) for name, _, _ in kept)) // PAGE) * PAGE
        for name, offset, size in kept:
            body += bytes(-len(body) % PAGE if size else 0)
            head += struct.pack("<QQQ", start + len(body), size, len(name)) + name
            body += bytes(data[offset : offset + size])
        return head.ljust(start, b"\0") + body, sum(bool(size) for _, _, size in kept)

    def pruned(self, data):
        """What stands in the place of a bundle, plain or compressed, and how many entries with code are left."""
        if data[:4] != PACKED:
            return self.bundle(data)
        version, method = struct.unpack_from("<HH", data, 4)
        header = {1: "<4sHHIQ", 2: "<4sHHIIQ", 3: "<4sHHQQQ"}[version]
        width = struct.calcsize(header)
        fields = struct.unpack_from(header, data, 0)
        size, end = (fields[3], len(data)) if version == 1 else (fields[4], fields[3])
        plain, left = self.bundle(unpack(bytes(data[width:end]), size, method))
        small = pack(plain, method)
        digest = struct.unpack("<Q", hashlib.md5(plain).digest()[:8])[0]
        sizes = (len(plain),) if version == 1 else (width + len(small), len(plain))
        return struct.pack(header, PACKED, version, method, *sizes, digest) + small, left


def zstd(name, room, *words):
    """A call of the image's libzstd (Python has none before 3.14); with `room` bytes to write to, which come first."""
    try:
        import ctypes

        call = getattr(ctypes.CDLL("libzstd.so.1"), name)
    except (ImportError, OSError) as error:
        raise ValueError(f"compressed by zstd, and {error}") from None
    call.restype, kept = ctypes.c_size_t, ctypes.create_string_buffer(room)
    words = (kept, room, *words) if room else words
    done = call(*[ctypes.c_size_t(word) if isinstance(word, int) else word for word in words])
    return kept.raw[:done] if room and done <= room else done


def unpack(data, size, method):
    if method == 0:
        return zlib.decompressobj().decompress(data)
    width = zstd("ZSTD_findFrameCompressedSize", 0, data, len(data))
    plain = zstd("ZSTD_decompress", size, data, min(width, len(data)))
    if not isinstance(plain, bytes) or len(plain) != size:
        raise ValueError("compressed code that cannot be read")
    return plain


def pack(data, method):
    if method == 0:
        return zlib.compress(data, 9)
    small = zstd("ZSTD_compress", zstd("ZSTD_compressBound", 0, len(data)), data, len(data), 9)
    if not isinstance(small, bytes):
        raise ValueError("code that cannot be compressed again")
    return small


class Elf:
    """A program or library of the host's: the parts of it that change when its bundles become smaller."""

    def __init__(self, data):
        self.data = data
        self.head = list(struct.unpack_from("<16sHHIQQQIHHHHHH", data, 0))
        _, _, _, _, _, phoff, shoff, _, _, _, phnum, _, shnum, names = self.head
        self.segments = [list(struct.unpack_from("<IIQQQQQQ", data, phoff + 56 * at)) for at in range(phnum)]
        self.sections = [list(struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * at)) for at in range(shnum)]
        self.text = self.sections[names][4] if shnum else 0

    def named(self, name):
        word = name + b"\0"
        return [one for one in self.sections if self.data[self.text + one[0] : self.text + one[0] + len(word)] == word]

    def pointers(self, wrappers):
        """Where each wrapper says that its bundle lies: (address of the bundle, places of the file that say so)."""
        slots = {}
        for at in range(0, wrappers[5], 24):
            if struct.unpack_from("<I", self.data, wrappers[4] + at)[0] == WRAPPER:
                place = wrappers[4] + at + 8
                slots[wrappers[3] + at + 8] = [struct.unpack_from("<Q", self.data, place)[0], [place]]
        for section in self.sections:
            for at in range(section[4], section[4] + section[5], 24) if section[1] == RELA else ():
                address, info, addend = struct.unpack_from("<QQQ", self.data, at)
                if address in slots and info & 0xFFFFFFFF == RELATIVE:
                    slots[address] = [addend, [at + 16] + (slots[address][1] if slots[address][0] else [])]
                elif address in slots and info & 0xFFFFFFFF == SYMBOL:
                    symbol = self.sections[section[6]][4] + 24 * (info >> 32)
                    slots[address] = [struct.unpack_from("<Q", self.data, symbol + 8)[0] + addend, []]
        return list(slots.values())


def slimmed(data, cut):
    """The pieces of a program's file with smaller bundles, or None where it has none, or nothing would fall."""
    if data[4:6] != b"\x02\x01" or struct.unpack_from("<H", data, 18)[0] == AMDGPU:
        return None
    elf = Elf(data)
    fat, wrappers = elf.named(b".hip_fatbin"), elf.named(b".hipFatBinSegment")
    if not fat or not fat[0][5] or fat[0][1] == NOBITS:
        return None
    if len(fat) != 1 or len(wrappers) != 1:
        raise ValueError("bundles in a way that is not known")
    (_, _, _, address, start, size, _, _, _, _), pointers = fat[0], elf.pointers(wrappers[0])
    places = sorted({pointer for pointer, _ in pointers})
    if not places or places[0] != address:
        raise ValueError("bundles that nothing points to")
    new, moved = bytearray(), {}
    for place, end in zip(places, [*places[1:], address + size]):
        part = data[start + place - address : start + end - address]
        if not part.startswith((BUNDLE, PACKED)):
            raise ValueError("a pointer to no bundle")
        new += bytes(-len(new) % PAGE)
        moved[place] = address + len(new)
        new += cut.pruned(part)[0]
    if any(moved[one] != one and not spots for one, spots in pointers):
        raise ValueError("a bundle that a symbol names, behind others")
    return laid(elf, fat[0], new, {at: moved[one] for one, spots in pointers for at in spots})


def filled_up(data, start, behind, new, patches):
    """The file as long as it was: less than a page fell. None where nothing did."""
    if len(new) > behind - start or data[start : start + len(new)] == new:
        return None
    whole = bytearray(data)
    whole[start:behind] = new.ljust(behind - start, b"\0")
    for at, value in patches.items():
        struct.pack_into("<Q", whole, at, value)
    return whole


def laid(elf, fat, new, patches):
    """The file anew: what follows the bundles moves up by whole pages, with a segment of its own, at its addresses."""
    data, start, behind, segments = elf.data, fat[4], fat[4] + fat[5], elf.segments
    holder = next(one for one in segments if one[0] == LOAD and one[2] <= start < one[2] + one[5])
    first = next(one for one in segments if one[0] == LOAD)
    shift, end = holder[3] - holder[2], holder[2] + holder[5]
    page = max([PAGE] + [one[7] for one in segments if one[0] == LOAD])
    split = end > behind
    if holder[5] != holder[6] or (split and shift != first[3] - first[2]):
        raise ValueError("a layout that is not known")
    new += bytes(-len(new) % 8)
    table, stop = start + len(new), behind - (behind - holder[2]) % page if split else behind
    filled = table + (56 * (len(segments) + 1) if split else 0)
    up = (stop - filled) // page * page
    if up <= 0:
        return filled_up(data, start, behind, new, patches)
    for one in segments:
        one[2] -= up if one[2] >= behind else 0
    if split:
        rest = [LOAD, holder[1], stop - up, stop + shift, stop + shift, end - stop, end - stop, holder[7]]
        segments.insert(segments.index(holder) + 1, rest)
        for one in (one for one in segments if one[0] == PHDR):
            one[2:7] = [table, table + shift, table + shift, filled - table, filled - table]
        elf.head[5], elf.head[10] = table, len(segments)
    holder[5] = holder[6] = filled - holder[2]
    for one in elf.sections:
        one[4] -= up if one[4] >= behind else 0
    fat[5], elf.head[6] = len(new), elf.head[6] - (up if elf.head[6] >= behind else 0)
    whole = bytearray(data[:start]) + new
    whole += bytes(stop - up - len(whole))
    whole += data[stop:]
    for at, value in patches.items():
        struct.pack_into("<Q", whole, at - (up if at >= behind else 0), value)
    struct.pack_into("<16sHHIQQQIHHHHHH", whole, 0, *elf.head)
    for at, one in enumerate(segments):
        struct.pack_into("<IIQQQQQQ", whole, elf.head[5] + 56 * at, *one)
    for at, one in enumerate(elf.sections):
        struct.pack_into("<IIQQQQIIQQ", whole, elf.head[6] + 64 * at, *one)
    return whole


def loose(data, cut):
    """What stands in the place of a file that is code and nothing else: None where it stays, nothing where it goes."""
    if data[:4] == b"\x7fELF":
        machine = data[48]
        stays = [target for target, machines in cut.wanted.items() if machine in machines]
        cut.kept.update(stays)
        cut.seen.update(stays or [f"machine {machine:#04x}"])
        return None if stays else b""
    new, left = cut.pruned(data)
    return b"" if not left else new if len(new) < len(data) else None


def look(path, size, cut):
    """Cut one file. Raises ValueError, struct.error and their like for what is not as it should be."""
    name = NAMED.fullmatch(path)
    tokens = TOKEN.findall(next(filter(None, name.groups()))) if name else ()
    if tokens and not cut.named(tokens[-1]):
        os.remove(path)
        cut.removed += 1
        return
    if size < 64:
        return
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        elf = data[:4] == b"\x7fELF"
        bundle = data[:24] == BUNDLE or (data[:4] == PACKED and struct.unpack_from("<H", data, 4)[0] in (1, 2, 3))
        code = elf and data[4:6] == b"\x02\x01" and struct.unpack_from("<H", data, 18)[0] == AMDGPU
        if bundle or (code and path.endswith((".co", ".hsaco"))):
            new = loose(data, cut)
        else:
            new = slimmed(data, cut) if elf else None
    if new is None:
        return
    if new:
        write(path, new)
        cut.rewritten += 1
    else:
        os.remove(path)
        cut.removed += 1


def write(path, new):
    """The file anew under its name, with its owner and mode."""
    there, beside = os.stat(path), path + ".rocenv"
    with open(beside, "wb") as file:
        file.write(new)
    shutil.copystat(path, beside)
    os.chown(beside, there.st_uid, there.st_gid)
    os.chmod(beside, there.st_mode & 0o7777)
    os.replace(beside, path)


def files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(one for one in folders if os.path.join(folder, one) not in ELSEWHERE)
        for name in sorted(names):
            path = os.path.join(folder, name)
            there = os.lstat(path)
            if there.st_mode & 0o170000 == 0o100000:
                yield path, there.st_size, there.st_blocks * 512


def main(root, wanted, kept):
    lost = sorted(name for name in os.environ if not OWN.fullmatch(name) and name not in kept)
    if lost:
        fail(f"the image's own variables would be lost: {' '.join(lost)}", "`rocenv build` writes them down: use it")
    named = [one.split("=") for one in wanted]
    cut = Cut({target: {int(one, 16) for one in machines.split(",")} for target, machines in named})
    before = 0
    for path, size, used in files(root):
        before += used
        try:
            look(path, size, cut)
        except (ValueError, LookupError, ArithmeticError, OSError, MemoryError, StopIteration, *BROKEN) as error:
            cut.left += 1
            print(f"rocenv: left as it is: {path}: {error}", file=sys.stderr)
    missing = sorted(set(cut.wanted) - cut.kept)
    if missing:
        seen = sorted(cut.seen)
        there = ", ".join(one for one in seen if not one.startswith(tuple(set(seen) - {one}))) or "nothing"
        fail(f"the image has no code for {', '.join(missing)}", f"it has some for: {there}")
    after = sum(used for _, _, used in files(root))
    told = {"targets": sorted(cut.wanted), "before": before, "after": after, "removed": cut.removed}
    told.update(rewritten=cut.rewritten, left=cut.left)
    os.makedirs(os.path.dirname(root.rstrip("/") + REPORT), exist_ok=True)
    with open(root.rstrip("/") + REPORT, "w") as file:
        json.dump(told, file)
    print(
        f"rocenv: {before >> 20} MiB before, {after >> 20} MiB after: {cut.removed} files removed, "
        f"{cut.rewritten} made smaller, {cut.left} left as they are"
    )


if __name__ == "__main__":
    split = sys.argv.index("--kept")
    main(sys.argv[1], sys.argv[2:split], sys.argv[split + 1 :])
