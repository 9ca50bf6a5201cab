"""Tensors of float64 while torch code is checked, in this thread alone."""

from collections.abc import Callable
from typing import Any

_MAKERS = ("zeros", "ones", "empty", "rand", "randn", "eye", "linspace", "logspace")
_FROM_NUMBERS = ("tensor", "as_tensor", "full", "arange")  # integers stay what they are


def in_float64(torch: Any) -> Any:
    """Return a context in which tensors without a type of their own are made of float64."""
    makers = {getattr(torch, name) for name in _MAKERS}
    from_numbers = {getattr(torch, name) for name in _FROM_NUMBERS}

    class InFloat64(torch.overrides.TorchFunctionMode):
        """Adds the type to what makes a tensor."""

        def __torch_function__(
            self, function: Callable[..., Any], types: Any, args: Any = (), options: Any = None
        ) -> Any:
            options = options or {}
            is_free = options.get("dtype") is None and not hasattr((*args, None)[0], "dtype")
            if is_free and function in makers:
                options = {**options, "dtype": torch.float64}
            made = function(*args, **options)
            if is_free and function in from_numbers and made.dtype == torch.float32:
                made = function(*args, **options, dtype=torch.float64)
            return made

    return InFloat64()
