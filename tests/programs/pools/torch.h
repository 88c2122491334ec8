// What the stand-ins for libtorch_cpu.so and libtorch_python.so share: the members that PyTorch's structs begin with.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#pragma GCC visibility push(default)
using Allocate = uintptr_t (*)(size_t, int);

namespace at {
namespace sequence_number { uint64_t get_and_increment(); }
struct RecordFunction { static uint64_t currentThreadId(); };
}

namespace c10 {
namespace detail { template <class T> struct intrusive_target_default_null_type {}; }
template <class T, class Null = detail::intrusive_target_default_null_type<T>> struct intrusive_ptr {
    explicit intrusive_ptr(T *of) : of(of) {}
    ~intrusive_ptr() {}
    T &operator*() { return *of; }
    T *of;
};
struct intrusive_ptr_target { virtual ~intrusive_ptr_target() {} std::atomic<uint64_t> references{0x100000001}; };
}

namespace torch { namespace autograd {
struct GraphTask;
struct InputBuffer;
struct ReadyQueue;
struct Node;
#ifdef INTRUSIVE
using NodePointer = c10::intrusive_ptr<Node>;
struct Base : c10::intrusive_ptr_target {};
#else
using NodePointer = std::shared_ptr<Node>;
struct Base { virtual ~Base() {} void *itself = this, *count = nullptr; };
#endif

struct Node : Base {
    explicit Node(uint64_t number);
    virtual void run();
#ifdef MOVED
    uint64_t moved[2] = {};
#endif
    uint64_t sequence, topological;
    bool has_parent;
    uint64_t thread;
    size_t bytes;
    Node *next = nullptr;
};

// The result goes through an address that the caller gives, as that of PyTorch's function does.
struct Future { Future() {} Future(const Future &) {} ~Future() {} void *of = nullptr; };

struct Engine {
    virtual ~Engine() {}
    void evaluate_function(std::shared_ptr<GraphTask> &, Node *, InputBuffer &, const std::shared_ptr<ReadyQueue> &);
    virtual Future execute_with_graph_task(const std::shared_ptr<GraphTask> &, NodePointer, InputBuffer &&);
    long begin(Node *first, bool here);
    bool here = false;
};
}}
#pragma GCC visibility pop
