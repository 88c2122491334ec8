"""Convolution, batch norm and backward with deterministic cuDNN algorithms."""

import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

torch.use_deterministic_algorithms(True)
torch.backends.cudnn.benchmark = False
torch.backends.cudnn.allow_tf32 = False
torch.manual_seed(2)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1),
    torch.nn.BatchNorm2d(16),
    torch.nn.ReLU(),
    torch.nn.Conv2d(16, 32, 3, stride=2, padding=1),
)
x = torch.randn(8, 3, 64, 64)
want = net(x).detach()
net = net.cuda()
gpu_x = x.cuda().requires_grad_()
out = net(gpu_x)
out.square().mean().backward()
error = float((out.detach().cpu() - want).norm() / want.norm())
print(f"forward: correct {error < 1e-4}, shape {tuple(out.shape)}")
print(f"input gradient: norm {float(gpu_x.grad.double().norm()):.6e}")
for name, p in net.named_parameters():
    print(f"{name}: gradient norm {float(p.grad.double().norm()):.5e}")
