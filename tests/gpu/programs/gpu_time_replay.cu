// Loops for cost and stress; each time includes the synchronization at the end of a burst.
//   gpu_time_replay launches BURSTS          bursts of 1,000 empty launches: microseconds of a launch
//   gpu_time_replay replays BURSTS           bursts of 20 replays of a graph of 200 kernels: microseconds of a replay
//   gpu_time_replay stress REPLAYS SECONDS   replays of that graph until either is reached
// The median of the bursts is a line with a number alone.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

constexpr int NODES = 200;

__global__ void empty() {}

static void check(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    std::printf("%s: %s\n", what, cudaGetErrorString(code));
    std::exit(1);
}

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double free_megabytes()
{
    size_t free_bytes = 0, total = 0;
    check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
    return free_bytes / 1048576.0;
}

static cudaStream_t stream;
static cudaGraphExec_t executable;

static void capture()
{
    cudaGraph_t graph;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    for (int n = 0; n < NODES; n++)
        empty<<<1, 1, 0, stream>>>();
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0), "cudaGraphInstantiate");
}

static void burst(bool is_replay, int size)
{
    for (int n = 0; n < size; n++) {
        if (is_replay)
            check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
        else
            empty<<<1, 1, 0, stream>>>();
    }
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

static int stress(long replays, double seconds)
{
    burst(true, 100);
    const double before = free_megabytes(), begin = now();
    long made = 100;
    while (made + 100 <= replays && now() - begin < seconds) {
        burst(true, 100);
        made += 100;
    }
    const double took = now() - begin;
    const double after = free_megabytes();
    std::printf("%ld replays, %ld kernels in %.1f s: %.0f kernels/s; ", made, made * NODES, took,
                (made - 100) * NODES / took);
    std::printf("free memory of the GPU %.0f MiB, then %.0f: use grew by %.0f\n", before, after, before - after);
    return 0;
}

int main(int, char **arguments)
{
    const bool is_stress = !std::strcmp(arguments[1], "stress");
    const bool is_replay = is_stress || !std::strcmp(arguments[1], "replays");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    if (is_replay)
        capture();
    if (is_stress)
        return stress(std::atol(arguments[2]), std::atof(arguments[3]));
    const int size = is_replay ? 20 : 1000, bursts = std::atoi(arguments[2]);
    std::vector<double> times;
    for (int n = -10; n < bursts; n++) {
        const double begin = now();
        burst(is_replay, size);
        if (n >= 0)
            times.push_back((now() - begin) / size * 1e6);
    }
    std::sort(times.begin(), times.end());
    std::printf("%.3f\n", times[times.size() / 2]);
    return 0;
}
