# /// probe
# summary: rocFFT transforms lengths with small and large primes on every GPU, checked against sums of double precision
# level: libraries
# needs: python
# timeout: 240
# ///
# Through ctypes; the numbers are those of rocfft.h. The error of an fp64 transform of length n is about log2(n) * 2^-53
# of its size; 1e-12 is allowed. The reference is the sum of its definition, which errs by sqrt(n) * 2^-53: 1e-14.
import array, cmath, random

from prelude import *

LENGTHS = (64, 100, 210, 251)
IN_PLACE, FORWARD, DOUBLE = 0, 0, 1  # rocfft_placement_inplace, rocfft_transform_type_complex_forward, rocfft_precision_double


def reference(values):
    n = len(values)
    turns = [cmath.exp(-2j * cmath.pi * k / n) for k in range(n)]
    return [sum(value * turns[i * k % n] for i, value in enumerate(values)) for k in range(n)]


def check(hip, device):
    fft, worst = load("librocfft"), 0.0

    def call(name, *arguments):
        status = getattr(fft, name)(*arguments)
        if status:
            raise Fault("rocFFT error: %s answers %d" % (name, status))

    call("rocfft_setup")
    for length in LENGTHS:
        draw, plan = random.Random(length), ctypes.c_void_p()
        flat = [draw.uniform(-1, 1) for _ in range(2 * length)]
        values = [complex(flat[2 * i], flat[2 * i + 1]) for i in range(length)]
        at = hip.memory(array.array("d", flat).tobytes())
        call("rocfft_plan_create", ctypes.byref(plan), IN_PLACE, FORWARD, DOUBLE, ctypes.c_size_t(1), (ctypes.c_size_t * 1)(length), ctypes.c_size_t(1), None)
        call("rocfft_execute", plan, (ctypes.c_void_p * 1)(at), None, None)
        raw = array.array("d")
        raw.frombytes(hip.read(at, 16 * length))
        call("rocfft_plan_destroy", plan)
        hip.call("hipFree", at)
        wanted = reference(values)
        size = sum(abs(value) ** 2 for value in wanted) ** 0.5
        error = sum(abs(complex(raw[2 * i], raw[2 * i + 1]) - value) ** 2 for i, value in enumerate(wanted)) ** 0.5 / size
        if not error <= 1e-12:
            raise Fault("wrong numbers: a transform of length %d is off by %.3g of its size, and 1e-12 is allowed" % (length, error))
        worst = max(worst, error)
    call("rocfft_cleanup")
    return {"error": float("%.3g" % worst), "lengths": len(LENGTHS)}


with_hip(check, needs=("librocfft",))
