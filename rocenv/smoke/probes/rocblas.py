# /// probe
# summary: rocBLAS multiplies matrices in four types on every GPU, each element checked; its rates as figures
# level: libraries
# needs: python
# timeout: 300
# ///
# Through ctypes: no compiler, no header, no framework. The numbers of rocBLAS's types are those of rocblas-types.h.
# The operands are small whole numbers, so every sum is exact in every type and order: each element must be equal.
# For the rates they are random; a rate is two operations for each of n^3 steps, over the median time between two events.
import array, random

from prelude import *

N, ROWS, COLUMNS = 99, 67, 83  # the inner length, and the shape of the result: multiples of no tile
LARGE = 4096
NONE, TYPES = 111, {"fp64": 152, "fp32": 151, "fp16": 150, "bf16": 168}  # rocblas_operation_none; rocblas_datatype
BYTES = {"fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2}
STATUS = {5: "out of memory"}  # rocblas_status_memory_error
OUT = {"fp64": "fp64", "fp32": "fp32", "fp16": "fp32", "bf16": "fp32"}  # the types of the result and of the sums


def packed(numbers, kind):
    """Whole numbers below 256 as bytes of a type: exact in each of them."""
    if kind in ("fp64", "fp32"):
        return array.array("d" if kind == "fp64" else "f", numbers).tobytes()
    if kind == "bf16":  # the upper half of an fp32
        return b"".join(struct.pack("<f", number)[2:] for number in numbers)
    return struct.pack("<%de" % len(numbers), *numbers)


class Rocblas:
    """A handle on one GPU."""

    def __init__(self):
        self.library, self.handle = load("librocblas"), ctypes.c_void_p()
        self.call("rocblas_create_handle", ctypes.byref(self.handle))

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise Fault("%s: %s answers %d" % (STATUS.get(status, "rocBLAS error"), name, status))

    def gemm(self, kind, rows, columns, inner, a, b, c):
        """c = a * b, column by column, summed in the type of the result."""
        out = OUT[kind]
        one, zero = ((ctypes.c_double if out == "fp64" else ctypes.c_float)(value) for value in (1, 0))
        self.call("rocblas_gemm_ex", self.handle, NONE, NONE, rows, columns, inner, ctypes.byref(one), a, TYPES[kind], rows, b, TYPES[kind], inner,
                  ctypes.byref(zero), c, TYPES[out], rows, c, TYPES[out], rows, TYPES[out], 0, 0, 0)


def check_numbers(hip, blas, kind):
    draw = random.Random(7)
    a, b = [draw.randrange(-8, 9) for _ in range(ROWS * N)], [draw.randrange(-8, 9) for _ in range(N * COLUMNS)]
    out = OUT[kind]
    at = [hip.memory(packed(numbers, kind)) for numbers in (a, b)] + [hip.memory(b"\xa5" * (ROWS * COLUMNS * BYTES[out]))]
    blas.gemm(kind, ROWS, COLUMNS, N, *at)
    raw = hip.read(at[2], ROWS * COLUMNS * BYTES[out])
    got = array.array("d" if out == "fp64" else "f")
    got.frombytes(raw)
    columns = [b[j * N:(j + 1) * N] for j in range(COLUMNS)]
    lines = [a[i::ROWS] for i in range(ROWS)]
    wrong = [(i, j) for j in range(COLUMNS) for i in range(ROWS) if not got[j * ROWS + i] == sum(x * y for x, y in zip(lines[i], columns[j]))]
    for place in at:
        hip.call("hipFree", place)
    if wrong:
        raise Fault("wrong numbers: %d of %d elements of a %s product are off, the first at row %d, column %d" % ((len(wrong), ROWS * COLUMNS, kind) + wrong[0]))


def rate(hip, blas, kind):
    """TFLOP/s of a large product."""
    draw, count = random.Random(8), LARGE * LARGE
    block = packed([draw.randrange(-99, 100) for _ in range(65521)], kind)
    data = (block * (count * BYTES[kind] // len(block) + 1))[:count * BYTES[kind]]
    at = [hip.memory(data), hip.memory(data), hip.memory(None, count * BYTES[OUT[kind]])]
    seconds = hip.timed(lambda: blas.gemm(kind, LARGE, LARGE, LARGE, *at), 7)
    for place in at:
        hip.call("hipFree", place)
    return float("%.4g" % (2 * LARGE**3 / seconds / 1e12))


def check(hip, device):
    blas, figures = Rocblas(), {}
    for kind in TYPES:
        check_numbers(hip, blas, kind)
    for kind in TYPES:
        figures[kind + "_tflops"] = rate(hip, blas, kind)
    blas.call("rocblas_destroy_handle", blas.handle)
    return figures


with_hip(check, needs=("librocblas",))
