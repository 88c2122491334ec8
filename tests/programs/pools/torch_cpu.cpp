// A stand-in for PyTorch's libtorch_cpu.so: nodes, and an engine that runs them in a thread of its own, by the same
// symbols. INTRUSIVE: nodes as PyTorch 2.15 has them, else as 2.2. MOVED: a layout that nobody knows.
#include "torch.h"
#include <stdexcept>
#include <sys/prctl.h>
#include <thread>

namespace at {
static thread_local uint64_t next_number = 3, own_thread;
static std::atomic<uint64_t> threads;
uint64_t sequence_number::get_and_increment() { return next_number++; }
uint64_t RecordFunction::currentThreadId() { return own_thread ? own_thread : own_thread = ++threads; }
}

namespace torch { namespace autograd {
struct GraphTask { long ran, failed; };
struct InputBuffer {};
struct ReadyQueue {};
static Allocate allocate;
static int (*set_current)(void *);
static void *context;

Node::Node(uint64_t number) : sequence(number), topological(0), has_parent(false), thread(0), bytes(0) {
    thread = at::RecordFunction::currentThreadId();
}
void Node::run() { if (bytes) allocate(bytes, 0); }

namespace generated {
struct MmBackward0 : Node { using Node::Node; void run() override { Node::run(); } };
struct ThrowsBackward0 : Node { using Node::Node; void run() override { throw std::runtime_error("a node"); } };
}
struct AccumulateGrad : Node { using Node::Node; void run() override { Node::run(); } };
// A node that runs a pass itself.
struct InnerBackward : Node { using Node::Node; void run() override; Node *inner = nullptr; };

void Engine::evaluate_function(std::shared_ptr<GraphTask> &task, Node *node, InputBuffer &,
                               const std::shared_ptr<ReadyQueue> &) {
    node->run();
    task->ran++;
}

Future Engine::execute_with_graph_task(const std::shared_ptr<GraphTask> &task, NodePointer first, InputBuffer &&) {
    auto run = [&] {
        InputBuffer inputs;
        std::shared_ptr<ReadyQueue> queue;
        auto same = task;
        for (Node *node = &*first; node; node = node->next) {
            try {
                evaluate_function(same, node, inputs, queue);
            } catch (const std::runtime_error &) {
                task->failed++;
            }
        }
    };
    if (here) run();
    else std::thread([&] {
        prctl(PR_SET_NAME, "pt_autograd_0");
        set_current(context);
        run();
    }).join();
    return Future();
}

// Nodes live to the end.
static NodePointer pointer(Node *node) {
#ifdef INTRUSIVE
    return NodePointer(node);
#else
    return NodePointer(node, [](Node *) {});
#endif
}
static Node *made(Node *node, size_t bytes, Node *next) { return node->bytes = bytes, node->next = next, node; }

void InnerBackward::run() {
    auto task = std::make_shared<GraphTask>();
    Engine engine;
    engine.here = true;
    engine.Engine::execute_with_graph_task(task, pointer(inner), InputBuffer());
    Node::run();
}
}}

using namespace torch::autograd;
extern "C" void start(Allocate allocate_, int (*set_current_)(void *), void *context_) {
    allocate = allocate_, set_current = set_current_, context = context_;
}
extern "C" Node *new_node(const char *kind, size_t bytes, Node *next, Node *inner) {
    uint64_t number = *kind == 'a' ? ~0ul : at::sequence_number::get_and_increment();
    switch (*kind) {
    case 'a': return made(new AccumulateGrad(number), bytes, next);
    case 't': return made(new generated::ThrowsBackward0(number), bytes, next);
    case 'i': { auto node = new InnerBackward(number); node->inner = inner; return made(node, bytes, next); }
    default: return made(new generated::MmBackward0(number), bytes, next);
    }
}
long Engine::begin(Node *first, bool is_here) {
    auto task = std::make_shared<GraphTask>();
    here = is_here;
    execute_with_graph_task(task, pointer(first), InputBuffer());
    return task->ran * 1000 + task->failed;
}
