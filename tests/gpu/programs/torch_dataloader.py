"""A DataLoader with two forked workers, started when CUDA is already in use.

The workers touch no GPU; they inherit all that cutap has put into the process.
"""

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    """Item i holds i, i + 1, ... i + 63."""

    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.arange(index, index + 64)


total = torch.zeros((), dtype=torch.int64, device="cuda")
for epoch in (1, 2):
    loader = DataLoader(Numbers(), batch_size=32, num_workers=2, multiprocessing_context="fork")
    for batch in loader:
        total += batch.to("cuda").sum()
    print(f"epoch {epoch}: checksum {int(total)}")
