"""The doctor: pure functions from facts to findings, one module a layer; `catalogue` names them, `run` runs them."""
