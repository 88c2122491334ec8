# The time of a steady PyTorch step: median over steps, with one wait at the end of each.
import statistics, sys, time, torch
torch.manual_seed(0)
model = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(512, 512), torch.nn.ReLU())]).cuda()
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(256, 512, device="cuda")
def step():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()
for _ in range(50): step()
times = []
for _ in range(int(sys.argv[1])):
    begin = time.perf_counter(); step(); times.append(time.perf_counter() - begin)
print(f"{statistics.median(times) * 1e6:.1f}")
