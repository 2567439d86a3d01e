# /// probe
# summary: RCCL sums over all GPUs at once, in one process; on a single GPU a world of one
# level: libraries
# needs: python
# timeout: 300
# ///
# Through ctypes; the numbers are those of rccl.h. Whole numbers of 64 bits: every sum is exact.
import array

from prelude import *

COUNT, INT64, SUM = 1 << 16, 4, 0  # ncclInt64, ncclSum
WORLD = []  # what every GPU read, once all have summed: the first GPU's check starts them


def summed(hip, rccl):
    world = hip.count()

    def call(name, *arguments):
        status = getattr(rccl, name)(*arguments)
        if status:
            raise Fault("RCCL error: %s answers %d" % (name, status))

    everybody, places = (ctypes.c_void_p * world)(), []
    call("ncclCommInitAll", everybody, world, None)
    for device in range(world):
        hip.call("hipSetDevice", device)
        places.append(hip.memory(array.array("q", [(device + 1) * (i - 7) for i in range(COUNT)]).tobytes()))
    call("ncclGroupStart")
    for device in range(world):
        call("ncclAllReduce", places[device], places[device], ctypes.c_size_t(COUNT), INT64, SUM, ctypes.c_void_p(everybody[device]), None)
    call("ncclGroupEnd")
    read = []
    for device in range(world):
        hip.call("hipSetDevice", device)
        read.append(array.array("q"))
        read[-1].frombytes(hip.read(places[device], 8 * COUNT))
        hip.call("hipFree", places[device])
    for device in range(world):
        call("ncclCommDestroy", ctypes.c_void_p(everybody[device]))
    return read


def check(hip, device):
    rccl, version = load("librccl"), ctypes.c_int(0)
    rccl.ncclGetVersion(ctypes.byref(version))
    if not WORLD:
        WORLD.extend(summed(hip, rccl))
    hip.call("hipSetDevice", device)
    world = len(WORLD)
    wrong = sum(value != world * (world + 1) // 2 * (i - 7) for i, value in enumerate(WORLD[device]))
    if wrong:
        raise Fault("wrong numbers: %d of %d sums over %d GPUs are off" % (wrong, COUNT, world))
    return {"world": world, "rccl": version.value}


with_hip(check, needs=("librccl",))
