"""Which variables hold secrets, by their names."""

from __future__ import annotations

import re

# At the end of the name: HF_TOKEN holds one, TOKENIZERS_PARALLELISM, MAX_TOKENS and S3_NO_CREDENTIALS do not.
_SECRET = re.compile(
    r"(?<!NO_)(?:^|(?<=_))(TOKEN|SECRET|SECRET_KEY|ACCESS_KEY|PRIVATE_KEY|PASSWORD|PASSWD|API_?KEY|CREDENTIALS?)$",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """True for the name of a variable whose value is nobody else's business."""
    return _SECRET.search(name) is not None
