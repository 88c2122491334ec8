"""A model in a CUDA graph, replayed 200 times, and a second graph with other shapes."""

import torch

torch.manual_seed(0)
device = torch.device("cuda")
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(device)


def captured(batch):
    inputs = torch.randn(batch, 256, device=device)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.no_grad():
        for _ in range(3):
            model(inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        outputs = model(inputs).softmax(dim=1)
    return graph, outputs


graphs = [captured(batch) for batch in (8, 64)]
for n in range(200):
    for graph, outputs in graphs:
        graph.replay()
torch.cuda.synchronize()
print([round(float(outputs.sum()), 3) for _, outputs in graphs])
