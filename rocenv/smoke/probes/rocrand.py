# /// probe
# summary: rocRAND draws numbers on every GPU: repeatable by their seed, and distributed as they should be
# level: libraries
# needs: python
# timeout: 180
# ///
# Through ctypes; the numbers are those of rocrand.h. Means within six standard errors: a right generator fails that once
# in five hundred million draws.
import array

from prelude import *

COUNT, DEFAULT = 1 << 18, 400  # ROCRAND_RNG_PSEUDO_DEFAULT


def check(hip, device):
    rand = load("librocrand")

    def call(name, *arguments):
        status = getattr(rand, name)(*arguments)
        if status:
            raise Fault("rocRAND error: %s answers %d" % (name, status))

    def drawn(seed, name, *arguments):
        generator, at = ctypes.c_void_p(), hip.memory(None, 4 * COUNT)
        call("rocrand_create_generator", ctypes.byref(generator), DEFAULT)
        call("rocrand_set_seed", generator, ctypes.c_ulonglong(seed))
        call(name, generator, at, ctypes.c_size_t(COUNT), *arguments)
        numbers = array.array("f")
        numbers.frombytes(hip.read(at, 4 * COUNT))
        call("rocrand_destroy_generator", generator)
        hip.call("hipFree", at)
        return numbers

    uniform, again, other = (drawn(seed, "rocrand_generate_uniform") for seed in (11, 11, 12))
    if uniform != again:
        raise Fault("wrong numbers: one seed gave two sequences")
    if uniform == other:
        raise Fault("wrong numbers: two seeds gave one sequence")
    if min(uniform) < 0 or max(uniform) > 1:
        raise Fault("wrong numbers: a uniform number lies outside of [0, 1]")
    normal = drawn(11, "rocrand_generate_normal", ctypes.c_float(0), ctypes.c_float(1))
    error, mean = 6 / COUNT**0.5, sum(normal) / COUNT
    deviation = (sum((value - mean) ** 2 for value in normal) / (COUNT - 1)) ** 0.5
    figures = {"uniform_mean": sum(uniform) / COUNT, "normal_mean": mean, "normal_deviation": deviation}
    if abs(figures["uniform_mean"] - 0.5) > error / 12**0.5:
        raise Fault("wrong numbers: uniform numbers have the mean %.5f" % figures["uniform_mean"])
    if abs(mean) > error or abs(deviation - 1) > error / 2**0.5:
        raise Fault("wrong numbers: normal numbers have the mean %.5f and the deviation %.5f" % (mean, deviation))
    return {name: float("%.4g" % value) for name, value in figures.items()}


with_hip(check, needs=("librocrand",))
