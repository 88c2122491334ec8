"""More memory than a hook allows: PyTorch's own error is raised and caught, and the program goes on."""

import torch

x = torch.ones(1024, device="cuda")
for attempt in (1, 2):
    try:
        torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
        print("allocated 2 GiB")
    except torch.OutOfMemoryError as error:
        print(f"attempt {attempt}: {type(error).__name__}")
y = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
print("still works:", float((x + x).sum()), y.numel())
