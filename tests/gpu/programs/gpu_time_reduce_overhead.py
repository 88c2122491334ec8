"""torch.compile(mode="reduce-overhead"): kernels of Triton and libraries in graphs that PyTorch captures itself."""

import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

torch.manual_seed(1)
torch.set_float32_matmul_precision("highest")
layers = [torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 16)]
model = torch.nn.Sequential(*layers).cuda().eval()
compiled = torch.compile(model, mode="reduce-overhead", dynamic=False)
with torch.no_grad():
    for batch in (8, 32):
        x = torch.randn(batch, 128, device="cuda")
        expected = model(x)
        for _ in range(30):
            torch.compiler.cudagraph_mark_step_begin()
            result = compiled(x)
        same = torch.allclose(result, expected, atol=1e-4)
        print(f"batch {batch}: as without compile {same}, shape {tuple(result.shape)}")
