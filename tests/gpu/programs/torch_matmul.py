"""Matrix products in three precisions; prints checksums that do not vary."""

import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

torch.manual_seed(1)
a = torch.randn(512, 512)
b = torch.randn(512, 512)
want = a.double() @ b.double()
for dtype, limit in ((torch.float32, 1e-4), (torch.float16, 1e-2), (torch.bfloat16, 5e-2)):
    got = (a.to("cuda", dtype) @ b.to("cuda", dtype)).double().cpu()
    error = float((got - want).norm() / want.norm())
    print(f"{dtype}: correct {error < limit}, sum {float(got.sum()):.4f}")
batch = torch.bmm(a.cuda().view(8, 64, 512), b.cuda().view(8, 512, 64))
print(f"bmm: sum {float(batch.double().sum()):.4f}")
# What the trace must show of these calls: lines in the file that CUTAP_FACTS names (facts.py reads it).
host = torch.arange(3000, dtype=torch.float32)
device = host.cuda()
back = device.cpu()
print(f"there and back: {bool((host == back).all())}")
if "CUTAP_FACTS" in os.environ:
    with open(os.environ["CUTAP_FACTS"], "w", encoding="utf-8") as facts:
        for to, at, kind in ((device, host, "HostToDevice"), (back, device, "DeviceToHost")):
            places = f"dst={to.data_ptr():#x} src={at.data_ptr():#x} count={host.nbytes}"
            print(f"cudaMemcpyAsync {places} kind=cudaMemcpy{kind}", file=facts)
