"""An allocation that no GPU can satisfy: the error is caught, the program goes on."""

import torch

x = torch.ones(1024, device="cuda")
for attempt in (1, 2):
    try:
        torch.empty(1 << 46, dtype=torch.uint8, device="cuda")
        print("allocated 64 TiB?")
    except torch.cuda.OutOfMemoryError as error:
        print(f"attempt {attempt}: {type(error).__name__}")
print("still works:", float((x + x).sum()))
