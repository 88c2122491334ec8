"""One call each into cuFFT, cuSOLVER, cuSPARSE and cuRAND-style random numbers.

Each of these libraries brings its own copy of the CUDA runtime, or none at all.
"""

import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

torch.manual_seed(3)
x = torch.randn(4096)
spectrum = torch.fft.fft(x.cuda())
back = torch.fft.ifft(spectrum).real.cpu()
print("fft and back:", bool((back - x).abs().max() < 1e-4))

a = torch.randn(128, 128) + 128 * torch.eye(128)
b = torch.randn(128, 4)
solution = torch.linalg.solve(a.cuda(), b.cuda())
print("solve:", bool((a.cuda() @ solution - b.cuda()).abs().max() < 1e-3))
q, r = torch.linalg.qr(a.cuda())
print("qr:", bool((q @ r - a.cuda()).abs().max() < 1e-2))

dense = torch.zeros(64, 64)
dense[::4, ::3] = 1.0
product = torch.sparse.mm(dense.cuda().to_sparse_csr(), b[:64].cuda())
print("sparse:", bool((product.cpu() - dense @ b[:64]).abs().max() < 1e-4))

noise = torch.rand(100000, device="cuda")
print("random:", bool(0.49 < float(noise.mean()) < 0.51))
