"""What does PyTorch do to move four numbers to the GPU and back?"""

import torch

there = torch.arange(4, dtype=torch.float32).to("cuda")
print(there.cpu().tolist())
