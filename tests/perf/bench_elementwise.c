/* What certification costs: elementwise references beside the same functions uncertified, and
 * beside PyTorch in float64 where it is installed.
 *
 *   bench_elementwise [ELEMENTS [ROUNDS]]
 *
 * plain      float32 converted to double, then the same vector function, into warm buffers
 * certified  the whole bench function of the API: conversion, value, bound, certificate, and the
 *            recomputation of what is not certified for float32
 * torch      the same in PyTorch, float32 raised to float64 (one thread), run alternately
 *
 * Medians of ROUNDS; ns per element. fallback: share of elements recomputed in a higher tier.
 */
#include "bench/primitives/binary_functions.h"
#include "bench/primitives/unary_functions.h"
#include "reference_timing.h"

enum { MOST_ROUNDS = 99 };

static const struct {
    const char *type, *api, *function; /* function: row of the plain evaluation */
    double low, high;                  /* inputs */
    const char *torch;                 /* the expression of x (and y) */
} cases[] = {
    { "Torch", "exp", "exp", -20, 20, "torch.exp(x.double())" },
    { "Torch", "log", "log", 1e-3, 50, "torch.log(x.double())" },
    { "Torch", "tanh", "tanh", -5, 5, "torch.tanh(x.double())" },
    { "Torch", "erf", "erf", -4, 4, "torch.erf(x.double())" },
    { "Torch", "sin", "sin", -30, 30, "torch.sin(x.double())" },
    { "Torch", "pow", "pow", 0.1, 10, "torch.pow(x.double(), y.double())" },
    { "Torch", "lgamma", "lgamma", 0.1, 20, "torch.lgamma(x.double())" },
    { "Torch", "digamma", "digamma", 0.1, 20, "torch.digamma(x.double())" },
    { "Torch", "rsqrt", "rsqrt", 0.1, 20, "torch.rsqrt(x.double())" },
    { "Functional", "gelu", "gelu", -6, 6, "torch.nn.functional.gelu(x.double())" },
    { "Functional", "silu", "silu", -20, 20, "torch.nn.functional.silu(x.double())" },
    { "Functional", "softplus", "softplus", -20, 20, "torch.nn.functional.softplus(x.double())" },
};
enum { CASES = sizeof cases / sizeof *cases };

static void plain(double *out, double *in, const float *x, const float *y, size_t n,
                  const char *name)
{
    const struct unary_function *f = unary_find(name);
    dtype_to_double(in, x, DT_F32, n);
    if (f && f->vector) {
        f->vector(out, in, n);
    } else if (f) {
        for (size_t i = 0; i < n; i++) out[i] = f->scalar(in[i]);
    } else {
        const struct binary_function *g = binary_find(name);
        dtype_to_double(in + n, y, DT_F32, n);
        if (g->vector) g->vector(out, in, in + n, n);
        else
            for (size_t i = 0; i < n; i++) out[i] = g->scalar(in[i], in[n + i]);
    }
}

/* PyTorch's medians in ns per element; false when it is not there. */
static bool run_torch(double *ns, size_t n, int rounds)
{
    char command[4096];
    int at = snprintf(command, sizeof command,
                      "/usr/bin/python3 -c \"import torch, time, statistics\n"
                      "torch.set_num_threads(1)\n"
                      "n, rounds = %zu, %d\n"
                      "y = torch.rand(n) * 8 - 4\n"
                      "def run(f, low, high):\n"
                      "    x = torch.rand(n) * (high - low) + low\n"
                      "    t = []\n"
                      "    for _ in range(rounds + 2):\n"
                      "        s = time.thread_time(); f(x); t.append(time.thread_time() - s)\n"
                      "    print(statistics.median(t[2:]) * 1e9 / n)\n",
                      n, rounds);
    for (int k = 0; k < CASES; k++)
        at += snprintf(command + at, sizeof command - (size_t)at, "run(lambda x: %s, %g, %g)\n",
                       cases[k].torch, cases[k].low, cases[k].high);
    (void)snprintf(command + at, sizeof command - (size_t)at, "\" 2>/dev/null");
    FILE *pipe = popen(command, "r");
    int got = 0;
    while (pipe && got < CASES && fscanf(pipe, "%lf", &ns[got]) == 1) got++;
    if (pipe) (void)pclose(pipe);
    return got == CASES;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : (size_t)1 << 20;
    int rounds = argc > 2 ? atoi(argv[2]) : 15;
    if (!n || rounds < 1 || rounds > MOST_ROUNDS) return 2;
    float *x = malloc(2 * n * sizeof *x);
    double *in = malloc(2 * n * sizeof *in), *out = malloc(n * sizeof *out),
           torch_ns[CASES] = { 0 };
    struct arena arena = { 0 };
    uint64_t seed = 7;
    int64_t shape[1] = { (int64_t)n };
    double logs = 0, worst = 0, torch_logs = 0;

    print_machine();
    bool torch = run_torch(torch_ns, n, rounds);
    printf("%zu elements, medians of %d\n%-10s %9s %9s %9s %9s %9s %10s %s\n", n, rounds,
           "function", "plain", "certified", "ratio", "torch", "ratio", "fallback", "state");
    for (int k = 0; k < CASES; k++) {
        double times[2][MOST_ROUNDS], fallback = 0;
        enum reference_state state = REFERENCE_EXACT;
        struct tensor tensors[2];
        struct timed_case c;
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)(cases[k].low + (cases[k].high - cases[k].low) * uniform(&seed));
            x[n + i] = (float)(uniform(&seed) * 8 - 4);
        }
        tensor_wrap(&tensors[0], x, DT_F32, 1, shape);
        tensor_wrap(&tensors[1], x + n, DT_F32, 1, shape);
        timed_case_open(&c, cases[k].type, cases[k].api, !strcmp(cases[k].api, "pow") ? 2 : 1,
                        tensors);
        (void)time_reference(&c, &arena, &fallback, &state);
        for (int r = 0; r < rounds; r++) {
            double start = now();
            plain(out, in, x, x + n, n, cases[k].function);
            times[0][r] = now() - start;
            times[1][r] = time_reference(&c, &arena, NULL, NULL);
        }
        double base = median(times[0], rounds) * 1e9 / (double)n,
               ours = median(times[1], rounds) * 1e9 / (double)n;
        logs += log(ours / base);
        worst = fmax(worst, ours / base);
        printf("%-10s %9.3f %9.3f %9.2f ", cases[k].api, base, ours, ours / base);
        if (torch) printf("%9.3f %9.2f ", torch_ns[k], ours / torch_ns[k]);
        else printf("%9s %9s ", "-", "-");
        torch_logs += torch ? log(ours / torch_ns[k]) : 0;
        printf("%10.2g %s\n", fallback, state_name(state));
    }
    printf("certified / plain: geometric mean %.2f, worst %.2f", exp(logs / CASES), worst);
    if (torch)
        printf("; certified / PyTorch float64: geometric mean %.2f", exp(torch_logs / CASES));
    printf("\n");
    free(x);
    free(in);
    free(out);
    arena_release(&arena);
    return 0;
}
