"""A step of DDP with NCCL on each GPU, by torchrun. MISTAKE names what rank 1 does otherwise at step 5: count, function,
missing, or nothing. STEP_TIMES: rank 0 prints the median time of a step on standard error."""

import os
import sys
import time

import torch
import torch.distributed as distributed

mistake = os.environ.get("MISTAKE", "")
local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
distributed.init_process_group("nccl", device_id=torch.device("cuda", local))
rank = distributed.get_rank()
torch.manual_seed(2)
layers = [torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).cuda(), device_ids=[local])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
torch.manual_seed(10 + rank)
x, y = torch.randn(64, 256, device="cuda"), torch.randn(64, 8, device="cuda")
times = []
for step in range(int(os.environ.get("STEPS", "30"))):
    wrong = rank == 1 and step == 5
    if wrong and mistake == "missing":
        time.sleep(1000)
    began = time.perf_counter()
    optimizer.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    total = torch.ones(512 if wrong and mistake == "count" else 1024, device="cuda")
    if wrong and mistake == "function":
        distributed.broadcast(total, 0)
    else:
        distributed.all_reduce(total)
    torch.cuda.synchronize()
    times.append(time.perf_counter() - began)
if rank == 0 and "STEP_TIMES" in os.environ:
    print(f"step {1e6 * sorted(times)[len(times) // 2]:.1f} us", file=sys.stderr)
weights = sum(float(p.double().sum()) for p in model.parameters())
print(f"rank {rank}: weights {weights:.5f}")
distributed.destroy_process_group()
