// Enough of CUDA for a C++ compiler: the threads of one block at a time are threads of the
// processor. What follows this text are the kernels themselves, then an ENTRY for each.

#include <barrier>
#include <cmath>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __device__ inline
#define __shared__ static
#define __grid_constant__
#define __syncthreads() all_threads->arrive_and_wait()

using std::exp;
using std::log;
using std::sqrt;
using std::tanh;

struct Dimensions {
    unsigned x, y, z;
};

static thread_local Dimensions threadIdx, blockIdx;
static Dimensions blockDim, gridDim;
static std::barrier<>* all_threads;

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

template <typename... Types>
void launch(
    void (*kernel)(Types...), void** arguments, unsigned columns, unsigned rows, unsigned threads
) {
    std::barrier<> barrier(threads);
    all_threads = &barrier;
    blockDim = {threads, 1, 1};
    gridDim = {columns, rows, 1};
    auto work = [&](unsigned thread) {
        threadIdx = {thread, 0, 0};
        for (unsigned y = 0; y < rows; ++y)
            for (unsigned x = 0; x < columns; ++x) {
                blockIdx = {x, y, 0};
                call(kernel, arguments, std::index_sequence_for<Types...>());
                barrier.arrive_and_wait();
            }
    };
    std::vector<std::thread> all;
    for (unsigned thread = 0; thread < threads; ++thread) all.emplace_back(work, thread);
    for (std::thread& thread : all) thread.join();
}

#define ENTRY(name)                                                                           \
    extern "C" const char* letters_##name() { return letters(name); }                         \
    extern "C" void launch_##name(void** arguments, unsigned x, unsigned y, unsigned threads) { \
        launch(name, arguments, x, y, threads);                                               \
    }
