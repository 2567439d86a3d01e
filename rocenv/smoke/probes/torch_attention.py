# /// probe
# summary: scaled dot-product attention with and without a causal mask, by every implementation that this torch offers
# level: framework
# needs: torch
# timeout: 300
# ///
# The bound for bf16, of the size of the whole result: operands and result are rounded to 2^-9 in the mean, and an
# implementation may round the weights once more: 2^-7 is twice all of it, and far below what a wrong mask leaves.
from torch_prelude import *

KINDS = ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "MATH")


def attention(torch, q, k, v, causal):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def by_each(torch, q, k, v, wanted, device):
    """The error of each implementation alone, or why it is not there."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    figures = {}
    for kind in KINDS:
        try:
            with sdpa_kernel(getattr(SDPBackend, kind)):
                result = attention(torch, q, k, v, True)
        except RuntimeError as error:
            figures[kind.lower()] = "not there: %s" % " ".join(str(error).split())[:80]
            continue
        figures[kind.lower()] = hold(off(on_device(result, device), wanted), 2.0**-7, "attention by %s" % kind)
    return figures


def check(torch, device):
    q, k, v = (torch.randn(2, 4, 333, 64).bfloat16() for _ in range(3))
    figures = {}
    for causal in (False, True):
        wanted = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
        result = on_device(attention(torch, q.to(device), k.to(device), v.to(device), causal), device)
        what = "causal attention" if causal else "attention"
        figures[what.replace(" ", "_") + "_error"] = hold(off(result, wanted), 2.0**-7, what)
    figures.update(by_each(torch, q.to(device), k.to(device), v.to(device), wanted, device))
    return figures


with_torch(check)
