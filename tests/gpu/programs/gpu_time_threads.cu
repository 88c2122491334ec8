// Four threads, each with its own stream, launch one kernel. The grid has the number of the launch (x) and of the
// thread (y), so that each row of GPU time says which call it must have. gpu_time_threads LAUNCHES
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

constexpr int THREADS = 4;

__global__ void numbered(unsigned *sum)
{
    if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0)
        atomicAdd(sum, gridDim.x);
}

static void check(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    std::printf("%s: %s\n", what, cudaGetErrorString(code));
    std::exit(1);
}

int main(int, char **arguments)
{
    const int launches = std::atoi(arguments[1]);
    unsigned *sums = nullptr;
    check(cudaMalloc(&sums, THREADS * sizeof *sums), "cudaMalloc");
    check(cudaMemset(sums, 0, THREADS * sizeof *sums), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<std::thread> threads;
    for (int number = 0; number < THREADS; number++)
        threads.emplace_back([=] {
            cudaStream_t stream;
            check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
            for (int n = 1; n <= launches; n++) {
                numbered<<<dim3(n, number + 1), 32, 0, stream>>>(sums + number);
                check(cudaGetLastError(), "launch");
            }
            check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
            check(cudaStreamDestroy(stream), "cudaStreamDestroy");
        });
    for (auto &thread : threads)
        thread.join();
    unsigned host[THREADS];
    check(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (int number = 0; number < THREADS; number++)
        std::printf("thread %d: %d launches, sum %u\n", number, launches, host[number]);
    check(cudaFree(sums), "cudaFree");
    return 0;
}
