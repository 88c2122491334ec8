"""DDP of two processes on one GPU, as torchrun starts them, with gloo, since NCCL wants a GPU for each rank."""

import os
import socket
import subprocess
import sys

if "RANK" not in os.environ:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {
        **os.environ,
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    ranks = []
    for rank in ("0", "1"):
        own = {**common, "RANK": rank, "LOCAL_RANK": rank}
        ranks.append(subprocess.Popen([sys.executable, __file__], env=own, stdout=subprocess.PIPE, text=True))
    for number, rank in enumerate(ranks):
        print(rank.communicate()[0], end="")
        print(f"rank {number}: exit {rank.returncode}")
    sys.exit(any(rank.returncode for rank in ranks))

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch
import torch.distributed as distributed

distributed.init_process_group("gloo")
rank = distributed.get_rank()
torch.cuda.set_device(0)
torch.manual_seed(2)
layers = [torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).cuda(), device_ids=[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
torch.manual_seed(10 + rank)
x, y = torch.randn(32, 64, device="cuda"), torch.randn(32, 8, device="cuda")
for step in range(30):
    optimizer.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"rank {rank}, step {step + 1}: loss {loss.item():.5f}")
weights = sum(float(p.double().sum()) for p in model.parameters())
print(f"rank {rank}: weights {weights:.5f}")
distributed.destroy_process_group()
