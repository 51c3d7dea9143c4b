/* The shared library that test_plugin.c calls: one function for each calling convention a
 * manifest can express, and one for each way to misbehave. Deliberately free of anything from
 * this project. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- plain numerical conventions ---------------------------------------------------------------- */

/* Row-major C (m x n) = alpha * A (m x k) * B (k x n) with leading dimensions, as CBLAS. */
void row_major_matmul(int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                      int ldb, float *c, int ldc)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++) sum += a[i * lda + l] * b[l * ldb + j];
            c[i * ldc + j] = alpha * sum;
        }
}

/* Column-major y = A x, as Fortran BLAS. */
void column_major_matvec(int m, int n, const float *a, const float *x, float *y)
{
    for (int i = 0; i < m; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++) y[i] += a[i + j * m] * x[j];
    }
}

/* y += alpha x: an in-out argument. */
void axpy(int64_t n, double alpha, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i++) y[i] += (float)alpha * x[i];
}

/* Sum over all elements through shape and strides. */
void strided_sum(int rank, const int64_t *shape, const int64_t *strides, const float *x, float *out)
{
    if (rank == 0) {
        *out += *x;
        return;
    }
    for (int64_t i = 0; i < shape[0]; i++)
        strided_sum(rank - 1, shape + 1, strides + 1, x + i * strides[0], out);
}

/* Channels-last copy: x is N x H x W x C in memory; every element is doubled. */
void double_all(const int32_t *shape, const float *x, float *y)
{
    int n = shape[0] * shape[1] * shape[2] * shape[3];
    for (int i = 0; i < n; i++) y[i] = 2 * x[i];
}

/* The first element of each channel of an N x H x W x C image, so that the order matters. */
void first_of_channels(int n_channels, const float *x, float *y)
{
    for (int i = 0; i < n_channels; i++) y[i] = x[i];
}

void fill_by_name(const char *dtype, int64_t n, void *out)
{
    if (!strcmp(dtype, "float32"))
        for (int64_t i = 0; i < n; i++) ((float *)out)[i] = 32;
    if (!strcmp(dtype, "int64"))
        for (int64_t i = 0; i < n; i++) ((int64_t *)out)[i] = 64;
}

/* The same for a library that knows dtypes by number. */
int fill_by_number(int dtype, int64_t n, void *out)
{
    if (dtype != 7) return 5;
    fill_by_name("float32", n, out);
    return 0;
}

void concatenate(const float *const *parts, const int64_t *counts, int n, float *out)
{
    for (int i = 0; i < n; i++) {
        memcpy(out, parts[i], (size_t)counts[i] * sizeof *out);
        out += counts[i];
    }
}

void halves(float x, float *whole, float *rest)
{
    *whole = (float)(int)x;
    *rest = x - *whole;
}

void relu_gradient(int64_t n, const float *y, const float *dy, float *dx)
{
    for (int64_t i = 0; i < n; i++) dx[i] = y[i] > 0 ? dy[i] : 0;
}

float relu_scalar(float x) { return x > 0 ? x : 0; }

/* --- descriptors, handles, two phases ------------------------------------------------------------- */

struct context {
    int calls, live_descriptors;
};

struct descriptor {
    struct context *context;
    const void *data;
    int64_t shape[8];
    int rank, dtype;
};

struct plan {
    const struct descriptor *a, *b, *out;
};

int context_create(struct context **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : 1;
}

int context_destroy(struct context *context)
{
    free(context);
    return 0;
}

struct descriptor *descriptor_create(struct context *context, const void *data,
                                     const int64_t *shape, int rank, int dtype)
{
    struct descriptor *d = calloc(1, sizeof *d);
    d->context = context;
    d->data = data;
    d->rank = rank;
    d->dtype = dtype;
    memcpy(d->shape, shape, (size_t)rank * sizeof *shape);
    context->live_descriptors++;
    return d;
}

void descriptor_destroy(struct descriptor *d)
{
    d->context->live_descriptors--;
    free(d);
}

/* Phase one: how much work space, and a plan to run. */
int add_get_workspace(const struct descriptor *a, const struct descriptor *b,
                      const struct descriptor *out, uint64_t *bytes, struct plan **plan)
{
    if (a->dtype != 7) return 3;
    *bytes = 4096 + 8;
    *plan = malloc(sizeof **plan);
    **plan = (struct plan){ a, b, out };
    return 0;
}

/* Phase two. The work space must be as large as asked for. */
int add_execute(void *workspace, uint64_t bytes, struct plan *plan, struct context *context)
{
    int64_t n = 1;
    for (int i = 0; i < plan->a->rank; i++) n *= plan->a->shape[i];
    memset(workspace, 1, bytes);
    context->calls++;
    float *out;
    memcpy(&out, &plan->out->data, sizeof out);
    for (int64_t i = 0; i < n; i++)
        out[i] = ((const float *)plan->a->data)[i] + ((const float *)plan->b->data)[i];
    free(plan);
    return 0;
}

/* What the context has seen: calls so far and descriptors that nobody destroyed. */
int context_report(struct context *context, float *out)
{
    out[0] = (float)context->calls;
    out[1] = (float)context->live_descriptors;
    return 0;
}

const char *error_in_words(int code) { return code == 3 ? "dtype is not supported" : "unknown"; }

/* --- results of every type ------------------------------------------------------------------------- */

int8_t give_i8(int64_t x) { return (int8_t)x; }
uint8_t give_u8(int64_t x) { return (uint8_t)x; }
int16_t give_i16(int64_t x) { return (int16_t)x; }
uint16_t give_u16(int64_t x) { return (uint16_t)x; }
int32_t give_i32(int64_t x) { return (int32_t)x; }
uint32_t give_u32(int64_t x) { return (uint32_t)x; }
int64_t give_i64(int64_t x) { return x; }
uint64_t give_u64(int64_t x) { return (uint64_t)x; }
float give_f32(int64_t x) { return (float)x / 4; }
double give_f64(int64_t x) { return (double)x / 4; }
void *give_pointer(int64_t x) { return (void *)(uintptr_t)x; }

void keep_integer(int64_t x, double *out) { *out = (double)x; }
void keep_f32(float x, double *out) { *out = x; }
void keep_f64(double x, double *out) { *out = x; }

/* Of an argument that is not negative; 5 otherwise. */
int positive_halves(float x, float *whole, float *rest)
{
    if (x < 0) return 5;
    halves(x, whole, rest);
    return 0;
}

/* Never any words. */
const char *speechless(int code)
{
    (void)code;
    return NULL;
}

/* A symbol that is there and whose address is null. */
__asm__(".globl nowhere\n.set nowhere, 0");

/* Writes a work space to its last byte; its address modulo 64. */
void fill_workspace(unsigned char *workspace, uint64_t bytes, double *out)
{
    memset(workspace, 1, bytes);
    out[0] = (double)bytes;
    out[1] = (double)((uintptr_t)workspace % 64);
}

/* How many of these addresses are null, and the sum of the first floats of the others. */
void sum_of_firsts(const float *const *parts, int n, float *out)
{
    out[0] = out[1] = 0;
    for (int i = 0; i < n; i++)
        if (parts[i]) out[1] += *parts[i];
        else out[0]++;
}

/* The environment that the manifest asks for. */
void environment_mode(double *out)
{
    const char *mode = getenv("PLUGIN_KERNELS_MODE");
    *out = mode && !strcmp(mode, "test") ? 1 : 0;
}

float narrowed(double x) { return (float)x; }

/* --- misbehaviour ---------------------------------------------------------------------------------- */

static volatile int never = 0;

void crash(const float *x, float *y, int n)
{
    memcpy(y, x, (size_t)n * sizeof *y);
    *(volatile int *)(uintptr_t)(never + 8) = 1;
}

void hang(void)
{
    for (;;) never++;
}

void overrun(const float *x, float *y, int n)
{
    for (int i = 0; i <= n; i++) y[i] = x[i < n ? i : 0];
}

void scribble(float *x, int n)
{
    for (int i = 0; i < n; i++) x[i] = 0;
}

void quit(void) { _exit(9); }

/* Takes memory until there is none, and uses it without a look. Volatile, or clang sees that
 * nobody reads the memory and leaves it all out. */
void hog(void)
{
    for (;;) {
        volatile char *block = malloc(8 << 20);
        for (size_t i = 0; i < 8 << 20; i += 4096) block[i] = 1;
    }
}

void complain(void)
{
    fprintf(stderr, "kernel: tile size 0 is not possible\n");
    abort();
}
