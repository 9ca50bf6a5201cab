/* NumPy's matrix products with the rounding errors of another processor.

   Kernels of other processors add in another order, and the order depends on the shapes. Here the
   sum over k of each product is made of two, cut at a place that depends on m, n and k, both
   computed by the library that NumPy brings: BLAS, given at compilation. The functions have the
   names under which NumPy's wheels call them, so that preloading this comes before them. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int64_t Size;
typedef float _Complex FloatComplex;
typedef double _Complex DoubleComplex;
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111 };

static void *original(const char *name) {
    void *library = dlopen(BLAS, RTLD_NOW), *function = library ? dlsym(library, name) : NULL;
    if (!function) {
        fprintf(stderr, "tests.rounding: no %s in %s\n", name, BLAS);
        abort();
    }
    return function;
}

/* How many terms of k are in the first part: about a quarter, half, three quarters, or all. */
static Size first_part(Size m, Size n, Size k) {
    return k < 2 ? k : (k * (1 + (3 * m + 5 * n + k) % 4) + 3) / 4;
}

#define ORIGINAL(name, result, ...)                                    \
    static result (*function)(__VA_ARGS__);                            \
    if (!function) function = (result (*)(__VA_ARGS__))original(#name)

/* C = alpha A B + beta C, with A (m, k) and B (k, n), each transposed or not. */
#define MATRIX_MATRIX(name, Number, Scalar, one)                                                   \
    void name(int order, int ta, int tb, Size m, Size n, Size k, Scalar alpha, const Number *A,    \
              Size lda, const Number *B, Size ldb, Scalar beta, Number *C, Size ldc) {             \
        ORIGINAL(name, void, int, int, int, Size, Size, Size, Scalar, const Number *, Size,        \
                 const Number *, Size, Scalar, Number *, Size);                                    \
        Size first = first_part(m, n, k);                                                          \
        int A_in_rows = (order == ROW_MAJOR) == (ta == NOT_TRANSPOSED);                            \
        int B_in_rows = (order == ROW_MAJOR) == (tb == NOT_TRANSPOSED);                            \
        function(order, ta, tb, m, n, first, alpha, A, lda, B, ldb, beta, C, ldc);                 \
        if (first < k)                                                                             \
            function(order, ta, tb, m, n, k - first, alpha, A + first * (A_in_rows ? 1 : lda), lda, \
                     B + first * (B_in_rows ? ldb : 1), ldb, one, C, ldc);                         \
    }

/* C = alpha A A' + beta C, one triangle of it, with A (n, k), transposed or not. */
#define MATRIX_ITSELF(name, Number, Scalar, one)                                                   \
    void name(int order, int triangle, int ta, Size n, Size k, Scalar alpha, const Number *A,      \
              Size lda, Scalar beta, Number *C, Size ldc) {                                        \
        ORIGINAL(name, void, int, int, int, Size, Size, Scalar, const Number *, Size, Scalar,      \
                 Number *, Size);                                                                  \
        Size first = first_part(n, n, k);                                                          \
        int in_rows = (order == ROW_MAJOR) == (ta == NOT_TRANSPOSED);                              \
        function(order, triangle, ta, n, first, alpha, A, lda, beta, C, ldc);                      \
        if (first < k)                                                                             \
            function(order, triangle, ta, n, k - first, alpha, A + first * (in_rows ? 1 : lda),    \
                     lda, one, C, ldc);                                                            \
    }

/* y = alpha A x + beta y, with A (m, n), transposed or not: k is n, or m. */
#define MATRIX_VECTOR(name, Number, Scalar, one)                                                   \
    void name(int order, int ta, Size m, Size n, Scalar alpha, const Number *A, Size lda,          \
              const Number *x, Size dx, Scalar beta, Number *y, Size dy) {                         \
        ORIGINAL(name, void, int, int, Size, Size, Scalar, const Number *, Size, const Number *,   \
                 Size, Scalar, Number *, Size);                                                    \
        int plain = ta == NOT_TRANSPOSED;                                                          \
        Size k = plain ? n : m, first = dx > 0 ? first_part(m, n, k) : k, rest = k - first;        \
        int in_rows = (order == ROW_MAJOR) == plain;                                               \
        function(order, ta, plain ? m : first, plain ? first : n, alpha, A, lda, x, dx, beta, y,   \
                 dy);                                                                              \
        if (rest)                                                                                  \
            function(order, ta, plain ? m : rest, plain ? rest : n, alpha,                         \
                     A + first * (in_rows ? 1 : lda), lda, x + first * dx, dx, one, y, dy);        \
    }

/* The sum over k of x y. */
#define VECTOR_VECTOR(name, Number)                                                                \
    Number name(Size k, const Number *x, Size dx, const Number *y, Size dy) {                      \
        ORIGINAL(name, Number, Size, const Number *, Size, const Number *, Size);                  \
        Size first = dx > 0 && dy > 0 ? first_part(1, 1, k) : k;                                   \
        Number sum = function(first, x, dx, y, dy);                                                \
        return first < k ? sum + function(k - first, x + first * dx, dx, y + first * dy, dy) : sum; \
    }

static const FloatComplex one_c = 1;
static const DoubleComplex one_z = 1;

#define ALL(letter, Number, Scalar, one)                              \
    MATRIX_MATRIX(scipy_cblas_##letter##gemm64_, Number, Scalar, one) \
    MATRIX_ITSELF(scipy_cblas_##letter##syrk64_, Number, Scalar, one) \
    MATRIX_VECTOR(scipy_cblas_##letter##gemv64_, Number, Scalar, one)

ALL(s, float, float, 1)
ALL(d, double, double, 1)
ALL(c, FloatComplex, const void *, &one_c)
ALL(z, DoubleComplex, const void *, &one_z)
VECTOR_VECTOR(scipy_cblas_sdot64_, float)
VECTOR_VECTOR(scipy_cblas_ddot64_, double)
