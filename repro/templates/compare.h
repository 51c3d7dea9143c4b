/* What a kernel returned against what is right: the part of a reproducer that is the same for all. */
#ifndef REPRODUCER_COMPARE_H
#define REPRODUCER_COMPARE_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit statuses. */
enum { RIGHT = 0, WRONG = 1, CANNOT_RUN = 2 };

/* ---- libraries and files ---------------------------------------------------------------- */

static inline void give_up(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(CANNOT_RUN);
}

static inline void *library(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) give_up("cannot load the library", dlerror());
    return handle;
}

typedef void any_function(void);

static inline any_function *function(void *handle, const char *name)
{
    void *address = dlsym(handle, name);
    any_function *found;
    if (!address) give_up("no such function in the library", name);
    memcpy(&found, &address, sizeof found); /* C has no cast from one to the other */
    return found;
}

#ifndef DATA_DIRECTORY
#define DATA_DIRECTORY "."
#endif

/* The bytes of a file beside the source, read-only. */
static inline const void *data_file(const char *name, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", DATA_DIRECTORY, name);
    int descriptor = open(path, O_RDONLY);
    if (descriptor < 0) give_up(path, strerror(errno));
    off_t length = lseek(descriptor, 0, SEEK_END);
    if (length < 0 || (size_t)length != bytes) give_up(path, "not the file that was written");
    const void *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) give_up(path, strerror(errno));
    close(descriptor);
    return data;
}

/* ---- outputs ---------------------------------------------------------------------------- */

/* Elements that the kernel does not write stay this pattern, a NaN in all floating formats. */
static inline void fill_unwritten(void *data, size_t bytes)
{
    static const unsigned char pattern[2] = { 0xfb, 0x7f };
    for (size_t i = 0; i < bytes; i++) ((unsigned char *)data)[i] = pattern[i % 2];
}

/* The bytes behind an output must still have the pattern. */
static inline void check_end(const char *name, const void *data, size_t bytes, size_t room)
{
    const unsigned char *at = data;
    for (size_t i = bytes; i < room; i++) {
        if (at[i] == (i % 2 ? 0x7f : 0xfb)) continue;
        printf("the kernel wrote past %s (at byte %zu of %zu)\n", name, i, bytes);
        exit(WRONG);
    }
}

/* Work space that the kernel asks for. */
static inline uint64_t work_space(uint64_t bytes)
{
    void *space = NULL;
    if (posix_memalign(&space, 64, bytes ? (size_t)bytes : 1))
        give_up("no memory for work space", strerror(ENOMEM));
    return (uint64_t)(uintptr_t)space;
}

/* A result of the kernel that says that it failed. */
static inline void kernel_failed(const char *name, long long code)
{
    printf("%s returned %lld\n", name, code);
    exit(WRONG);
}

/* ---- numbers ---------------------------------------------------------------------------- */

/* A float of few bits: sign, exponent, fraction. `finite`: its largest exponent holds numbers, and NaN is
 * all ones (float8_e4m3fn). */
static inline double small_float(unsigned bits, int exponent_bits, int fraction_bits, int finite)
{
    unsigned fraction = bits & ((1u << fraction_bits) - 1);
    int top = (1 << exponent_bits) - 1, bias = top / 2;
    int exponent = (int)(bits >> fraction_bits) & top;
    double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
    if (finite && exponent == top && fraction == (1u << fraction_bits) - 1) return NAN;
    if (!finite && exponent == top) return fraction ? NAN : sign * INFINITY;
    if (!exponent) return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(fraction + (1u << fraction_bits), exponent - bias - fraction_bits);
}

/* x rounded to a format of `bits` significant bits. */
static inline double rounded(double x, int bits, int exponent_min, double largest)
{
    int exponent;
    if (x == 0 || !isfinite(x)) return x;
    frexp(x, &exponent);
    if (exponent - 1 < exponent_min) exponent = exponent_min + 1;
    double unit = ldexp(1, exponent - bits);
    x = rint(x / unit) * unit;
    return fabs(x) > largest ? copysign(INFINITY, x) : x;
}

/* Where component i of a row-major tensor is stored. */
static inline size_t place(size_t i, int rank, const int64_t *shape, const int64_t *stride)
{
    int64_t rest = (int64_t)i, at = 0;
    for (int d = rank; d-- > 0; rest /= shape[d]) at += rest % shape[d] * stride[d];
    return (size_t)at;
}

/* ---- comparison ------------------------------------------------------------------------- */

struct fault {
    const char *row;
    size_t n; /* numbers: elements, twice that when they are complex */
    int rank, parts;
    const int64_t *shape;
    const double *want, *allowed; /* what is right, and how far a right kernel may be off */
    const int64_t *want_whole;    /* of integers, in their place */
    int bits, exponent_min;       /* of the format: for errors in units in the last place */
};

static inline void print_place(const struct fault *fault, size_t i)
{
    int64_t at[16] = { 0 }, rest = (int64_t)(i / (size_t)fault->parts);
    for (int d = fault->rank; d-- > 0; rest /= fault->shape[d]) at[d] = rest % fault->shape[d];
    printf("[");
    for (int d = 0; d < fault->rank; d++) printf(d ? ",%lld" : "%lld", (long long)at[d]);
    printf("]%s", fault->parts == 2 ? i % 2 ? ".imag" : ".real" : "");
}

static inline int end(const struct fault *fault, size_t wrong)
{
    if (!wrong) printf("%s: right, all %zu numbers\n", fault->row, fault->n);
    return wrong ? WRONG : RIGHT;
}

/* The error in units in the last place at `want`. */
static inline double units(const struct fault *fault, double got, double want)
{
    int exponent = fault->exponent_min + 1;
    if (want != 0) frexp(want, &exponent);
    if (exponent - 1 < fault->exponent_min) exponent = fault->exponent_min + 1;
    return ldexp(fabs(got - want), fault->bits - exponent);
}

static inline int compare(const struct fault *fault, double (*got)(size_t))
{
    size_t wrong = 0, first = 0, worst = SIZE_MAX;
    double most = -1;
    for (size_t i = 0; i < fault->n; i++) {
        double x = got(i), want = fault->want[i];
        if (x == want || (isnan(x) && isnan(want))) continue;
        int finite = isfinite(x) && isfinite(want);
        if (finite && units(fault, x, want) > most) {
            most = units(fault, x, want);
            worst = i;
        }
        if (finite && fabs(x - want) <= fault->allowed[i]) continue;
        if (!wrong++) first = i;
    }
    if (wrong) {
        printf("%s: %zu of %zu numbers are wrong\nfirst wrong ", fault->row, wrong, fault->n);
        print_place(fault, first);
        printf(": want %.17g, got %.17g, allowed %.3g\n", fault->want[first], got(first),
               fault->allowed[first]);
    }
    if (wrong && worst != SIZE_MAX) {
        printf("worst ulp ");
        print_place(fault, worst);
        printf(": want %.17g, got %.17g, error %.9g\n", fault->want[worst], got(worst), most);
    }
    return end(fault, wrong);
}

static inline int compare_whole(const struct fault *fault, int64_t (*got)(size_t))
{
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < fault->n; i++)
        if (got(i) != fault->want_whole[i] && !wrong++) first = i;
    if (wrong) {
        printf("%s: %zu of %zu numbers are wrong\nfirst wrong ", fault->row, wrong, fault->n);
        print_place(fault, first);
        printf(": want %lld, got %lld\n", (long long)fault->want_whole[first],
               (long long)got(first));
    }
    return end(fault, wrong);
}

/* For kernels that did not come back: this one did. */
static inline int returned(const char *row)
{
    printf("%s: the kernel returned\n", row);
    return RIGHT;
}

/* ---- kernels that crash or hang --------------------------------------------------------- */

/* The work in a process of its own, for at most `seconds`. */
static inline int isolated(int (*work)(int, char **), int count, char **arguments, unsigned seconds)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) give_up("cannot start a process", strerror(errno));
    if (!child) {
        alarm(seconds);
        exit(work(count, arguments));
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    if (WTERMSIG(status) == SIGALRM) printf("the kernel hung for %u s\n", seconds);
    else printf("the kernel crashed: signal %d\n", WTERMSIG(status));
    return WRONG;
}

#endif
