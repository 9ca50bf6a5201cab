// Enough of CUDA for a C++ compiler: the threads of a block take turns, each until it has to wait
// for the others. What follows this text are the kernels themselves, then an ENTRY for each.

#define _XOPEN_SOURCE 700

#include <cmath>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include <ucontext.h>

#define __global__
#define __device__ inline
#define __shared__ static
#define __grid_constant__
#define __syncthreads() swapcontext(&threads[threadIdx.x].context, &block)

using std::exp;
using std::log;
using std::sqrt;
using std::tanh;

struct Dimensions {
    unsigned x, y, z;
};

struct Thread {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(1 << 16);
    bool done;
};

static Dimensions threadIdx, blockIdx, blockDim, gridDim;
static std::vector<Thread> threads(1024);
static ucontext_t block;  // which gives the threads their turns
static std::function<void()> kernel_of_block;

static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned __int128>(a) * b >> 64;
}

// Of each parameter: p for a pointer, i for an integer of 64 bits, d for a double, s for a
// structure.
template <typename T>
constexpr char letter() {
    if (std::is_pointer_v<T>) return 'p';
    if (std::is_same_v<T, double>) return 'd';
    if (std::is_integral_v<T> && sizeof(T) == 8) return 'i';
    return std::is_class_v<T> ? 's' : '?';
}

template <typename... Types>
const char* letters(void (*)(Types...)) {
    static const char text[] = {letter<Types>()..., 0};
    return text;
}

template <typename... Types, std::size_t... Index_>
void call(void (*kernel)(Types...), void** arguments, std::index_sequence<Index_...>) {
    kernel(*static_cast<std::remove_const_t<Types>*>(arguments[Index_])...);
}

static void run_thread() {
    kernel_of_block();
    threads[threadIdx.x].done = true;
}

static void run_block() {
    for (unsigned number = 0; number < blockDim.x; ++number) {
        Thread& thread = threads[number];
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.data();
        thread.context.uc_stack.ss_size = thread.stack.size();
        thread.context.uc_link = &block;
        makecontext(&thread.context, run_thread, 0);
        thread.done = false;
    }
    for (bool waiting = true; waiting;) {
        waiting = false;
        for (unsigned number = 0; number < blockDim.x; ++number) {
            if (threads[number].done) continue;
            threadIdx = {number, 0, 0};
            swapcontext(&block, &threads[number].context);
            waiting |= !threads[number].done;
        }
    }
}

template <typename... Types>
void launch(
    void (*kernel)(Types...), void** arguments, unsigned columns, unsigned rows, unsigned width
) {
    kernel_of_block = [=] { call(kernel, arguments, std::index_sequence_for<Types...>()); };
    blockDim = {width, 1, 1};
    gridDim = {columns, rows, 1};
    for (unsigned y = 0; y < rows; ++y)
        for (unsigned x = 0; x < columns; ++x) {
            blockIdx = {x, y, 0};
            run_block();
        }
}

#define ENTRY(name)                                                                         \
    extern "C" const char* letters_##name() { return letters(name); }                       \
    extern "C" void launch_##name(void** arguments, unsigned x, unsigned y, unsigned width) { \
        launch(name, arguments, x, y, width);                                               \
    }
