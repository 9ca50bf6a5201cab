// Enough of CUDA for a C++ compiler: the threads of a block take turns, each until it has to wait
// for the others. The blocks of a launch run one after the other; those of a launch that brings
// memory for each block take turns too. What follows this text are the kernels themselves, then an
// ENTRY for each.

#define _XOPEN_SOURCE 700

#include <algorithm>
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
#define __launch_bounds__(threads)
#define __syncthreads() wait_for_block()
#define __nanosleep(time) give_turn()
#define __threadfence()
#define MEMORY_OF_BLOCK(Type, name) Type* name = reinterpret_cast<Type*>(current->memory.data())

using std::exp;
using std::log;
using std::sqrt;
using std::tanh;

struct Dimensions {
    unsigned x, y, z;
};

struct float4 {
    float x, y, z, w;
};

struct Thread {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(1 << 16);
    bool done;
};

struct Block {
    Dimensions number;
    std::vector<Thread> threads;
    std::vector<double> memory;
    unsigned waiting = 0, waits = 0;  // threads at a __syncthreads, and how many of these there were
};

static Dimensions threadIdx, blockIdx, blockDim, gridDim;
static std::vector<Block> blocks;
static Block* current;
static ucontext_t scheduler;  // which gives the threads their turns
static std::function<void()> kernel_of_block;

static void give_turn() { swapcontext(&current->threads[threadIdx.x].context, &scheduler); }

static void wait_for_block() {
    Block* mine = current;
    const unsigned wait = mine->waits;
    if (++mine->waiting == blockDim.x) {
        mine->waiting = 0;
        ++mine->waits;
    }
    while (mine->waits == wait) give_turn();
}

template <typename T>
T __ldcg(const T* from) { return *from; }

static unsigned atomicAdd(unsigned* number, unsigned more) {
    const unsigned before = *number;
    *number += more;
    return before;
}

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
    current->threads[threadIdx.x].done = true;
}

// The first `count` blocks of the list, side by side.
static void run_blocks(unsigned count) {
    for (unsigned b = 0; b < count; ++b) {
        blocks[b].threads.resize(std::max<std::size_t>(blocks[b].threads.size(), blockDim.x));
        for (unsigned number = 0; number < blockDim.x; ++number) {
            Thread& thread = blocks[b].threads[number];
            getcontext(&thread.context);
            thread.context.uc_stack.ss_sp = thread.stack.data();
            thread.context.uc_stack.ss_size = thread.stack.size();
            thread.context.uc_link = &scheduler;
            makecontext(&thread.context, run_thread, 0);
            thread.done = false;
        }
    }
    for (bool running = true; running;) {
        running = false;
        for (unsigned b = 0; b < count; ++b) {
            current = &blocks[b];
            blockIdx = current->number;
            for (unsigned number = 0; number < blockDim.x; ++number) {
                if (current->threads[number].done) continue;
                threadIdx = {number, 0, 0};
                swapcontext(&scheduler, &current->threads[number].context);
                running |= !current->threads[number].done;
            }
        }
    }
}

template <typename... Types>
void launch(
    void (*kernel)(Types...), void** arguments, unsigned columns, unsigned rows, unsigned width,
    unsigned memory
) {
    kernel_of_block = [=] { call(kernel, arguments, std::index_sequence_for<Types...>()); };
    blockDim = {width, 1, 1};
    gridDim = {columns, rows, 1};
    const unsigned at_once = memory ? columns * rows : 1;
    blocks.resize(std::max<std::size_t>(blocks.size(), at_once));
    for (unsigned first = 0; first < columns * rows; first += at_once) {
        for (unsigned b = 0; b < at_once; ++b) {
            blocks[b].number = {(first + b) % columns, (first + b) / columns, 0};
            blocks[b].memory.assign(memory / sizeof(double), std::nan(""));
        }
        run_blocks(at_once);
    }
}

#define ENTRY(name)                                                                         \
    extern "C" const char* letters_##name() { return letters(name); }                       \
    extern "C" void launch_##name(void** arguments, unsigned x, unsigned y, unsigned width, unsigned memory) { \
        launch(name, arguments, x, y, width, memory);                                       \
    }
