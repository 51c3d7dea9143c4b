/* The bench functions: what an API call should return, with a bound on the reference's error.
 *
 * A struct bench is one case evaluated. bench_open finds the API's row, binds its schema to the
 * arguments and runs the forward; bench_settle takes note of what a device returned where more
 * than one answer is right (ties, random draws); bench_backward computes the gradients.
 * Everything lives in the arena of the case; nothing needs closing.
 *
 * The same rows run in several arithmetics: BENCH_REFERENCE (double with error bounds, refined
 * by balls), BENCH_NATIVE (the tested dtype's own arithmetic as an accelerator has it: float32
 * for float32, float16 and bfloat16, double for float64, results rounded once to the dtype), and
 * two that only serve to bound what a legitimate kernel may be off by: the reference's running
 * error analysis with the kernel's unit roundoff, for the worst case and for the root mean
 * square (struct reference, kernel_bound and kernel_rms).
 */
#ifndef PROBE_BENCH_BENCH_H
#define PROBE_BENCH_BENCH_H

#include "bench/arithmetic/arithmetics.h"
#include "bench/call/output.h"
#include "core/case.h"
#include "core/kernel_modes.h"
#include "core/reference.h"

struct bench;

struct bench_output {
    enum bench_output_kind kind;
    struct reference reference;
    struct value value;
    const struct bench_property *property;
};

/* The call of PyTorch that computes what `c` does, for the functions below and the generators of inputs:
 * `c` itself where its framework has PyTorch's names, with the dtypes that its dumper lost (bench/lost_dtype.h). Otherwise out->recorded is `c`, which must stay.
 * STATUS_SKIP, with the reason, when there is none. */
struct status bench_translate(struct api_case *out, struct arena *arena, const struct api_case *c);

/* Is it the name of an API of MindSpore that bench_translate knows, in whichever namespace? */
bool bench_is_mindspore_name(const char *name);

/* Once the inputs of a translated call are made: its recorded call has the same tensors. */
void bench_share_inputs(const struct api_case *translated);

/* Evaluate the forward of `c`, whose inputs are made. STATUS_SKIP when the catalogue has no
 * such API or the arguments do not fit its schema; the text says which. */
struct status bench_open(struct bench **out, const struct api_case *c, struct arena *arena,
                         enum bench_arithmetic arithmetic);

/* The outputs, nested ones flattened depth-first. */
size_t bench_output_count(const struct bench *bench);
struct bench_output *bench_output(struct bench *bench, size_t i);

/* The outputs have been judged, and nobody looks at their references any more: what is evaluated from now on may have the
 * memory that is theirs alone. Nothing happens where models of kernels' errors take values from it. */
void bench_forget_outputs(struct bench *bench);

/* BENCH_NATIVE: the outputs as a device returns them: a LIST of tensors and plain values. */
struct status bench_native_outputs(struct value *out, struct bench *bench);

/* Tell the reference what the device returned (flat LIST, as above): index outputs that are
 * right by a tie are adopted, and the backward follows the device's indices and random draws.
 * `got` is kept, not copied. Call between bench_open and bench_backward. */
struct status bench_settle(struct bench *bench, const struct value *got);

/* Have every reference carry the model of a legitimate kernel's error (`kernel_bound`, `kernel_rms`):
 * those of the outputs now, those of gradients when bench_backward makes them. Costs about two
 * more evaluations. */
struct status bench_model(struct bench *bench);

/* Are the functions of fast-math among those that the bench computes? STATUS_BAD_ARGUMENT names the nearest. */
struct status bench_check_functions(const struct kernel_modes *modes);

/* Gradients of all tensor arguments (args, then kwargs, depth-first) for the given cotangents
 * (element k for flat output k; missing or NONE is zero). outputs[i].kind is NONE for a tensor
 * without gradient. STATUS_SKIP when the API has no backward, with the reason. */
struct status bench_backward(struct bench_output **gradients, size_t *count, struct bench *bench,
                             const struct value *cotangents);

/* BENCH_NATIVE: the same as a LIST of tensors and NONE. */
struct status bench_native_gradients(struct value *out, struct bench *bench,
                                     const struct value *cotangents);

/* How much room the elements of the results of a native evaluation of `c` take, which has its tensors; 0 where that is little. */
size_t bench_native_room(const struct api_case *c, bool gradients);

/* Results that are made from now on have their elements there, as long as there is room; `bytes` of an arena. */
void bench_native_place(struct bench *bench, void *room, size_t bytes);

/* Of a native evaluation that began when the arena stood at `mark` keep the results alone: the tensors of both lists
 * (`gradients` may be NONE) move down to the mark, where room for them may have been made, and everything else that the arena has
 * got since is forgotten, the evaluation too. `start`: the first piece that was allocated behind the mark. Those who help with `c` move
 * some. Results may have the elements of tensors of `c`, which stay where they are. Nothing happens where it would not free much, or
 * where a result is not a tensor of its own otherwise. */
struct status bench_native_keep(struct value *outputs, struct value *gradients, struct arena *arena,
                                struct arena_mark mark, const void *start,
                                const struct api_case *c);

/* Bytes of working memory that evaluating `c` may take, both directions, both arithmetics. */
size_t bench_peak_bytes(const struct api_case *c);

/* PyTorch runs this API's call as one autograd node, so a dump's recorded gradients are those
 * of its arguments (design: recorded device). */
bool bench_is_one_autograd_node(const struct api_case *c);

/* The catalogue, for `probe-ut ops`. Rows in name order. */
struct bench_entry {
    const char *group; /* "Functional", "Tensor", "Torch", "NPU" */
    const char *name;
    const char *schema;
    bool forward, backward, random;
    const char *certificate; /* how the bound is proven, in a word */
};
struct status bench_catalogue(const struct bench_entry **entries, size_t *count,
                              struct arena *arena);

/* The entry of one API, also by an in-place, dunder or reflected spelling; false when there is
 * none. The names stay the caller's. */
bool bench_find_entry(struct bench_entry *entry, const char *group, const char *name);

#endif
