"""PyTorch set up with the same threads, device and number format as the others."""

from __future__ import annotations

from typing import Any

from benchmarks.memory import MB, Growth
from benchmarks.settings import Spec
from benchmarks.timing import Work, median_ms
from deepnlp.errors import DeepNLPError


class Torch:
    """The module and the device it computes on.

    Raises
    ------
    DeepNLPError
        If a GPU is requested that this PyTorch cannot use.
    """

    def __init__(self, spec: Spec) -> None:
        import torch

        self.spec, self.torch = spec, torch
        self.device = "cpu" if spec.backend == "numpy" else "cuda"
        torch.manual_seed(0)
        torch.set_num_threads(spec.threads)
        if self.device == "cuda":
            if not torch.cuda.is_available():
                raise DeepNLPError(
                    "this PyTorch cannot use the GPU: install one for CUDA, or give --no-torch"
                )
            torch.backends.cuda.matmul.allow_tf32 = spec.tf32
            torch.backends.cudnn.allow_tf32 = spec.tf32
        self._import_what_waits()

    def _import_what_waits(self) -> None:
        """The first update imports some 80 MB of PyTorch: not memory that the model needs."""
        nn = self.torch.nn
        one = nn.Parameter(self.torch.ones(1, device=self.device))
        (one * one).sum().backward()
        nn.utils.clip_grad_norm_([one], 1.0)
        self.torch.optim.SGD([one], lr=1.0).step()

    def wait(self) -> None:
        """Wait until the device has finished its work."""
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def median_ms(self, work: Work) -> float:
        """Milliseconds of one repetition, the median."""
        return median_ms(work, self.spec, self.wait)

    def growth(self) -> Growth:
        """Memory from here on: of this process, or of the GPU."""
        return Growth(None if self.device == "cpu" else self._device_mb)

    def _device_mb(self) -> float:
        free, total = self.torch.cuda.mem_get_info()
        return float(total - free) / MB

    def tensor(self, array: Any) -> Any:
        """A host array as a tensor on the device."""
        return self.torch.from_numpy(array).to(self.device)
