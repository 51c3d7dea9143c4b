/* Spectra of the frames of a signal, and the signal of such spectra. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/fourier.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

/* x (batch, length) reflected or filled with zeros by `by` at both ends. */
static struct node *centred(struct call *call, struct node *x, int64_t by, const char *mode)
{
    struct tape *tape = call->tape;
    int64_t n = x->shape[1], length = n + 2 * by;
    bool reflects = !strcmp(mode, "reflect"), repeats = !strcmp(mode, "replicate");
    if (!call_require(call, reflects || repeats || !strcmp(mode, "constant"),
                      "frames padded in mode '%s' are not in the catalogue", mode) ||
        !call_require(call, !reflects || by < n, "a signal of %lld samples reflected by %lld",
                      (long long)n, (long long)by))
        return x;
    int64_t shape[2] = { x->shape[0], length };
    int64_t *map = tape_allocate(tape, (size_t)(shape[0] * length), sizeof *map);
    for (int64_t i = 0; map && i < shape[0] * length; i++) {
        int64_t at = i % length - by;
        if (reflects) at = at < 0 ? -at : at >= n ? 2 * (n - 1) - at : at;
        if (repeats) at = at < 0 ? 0 : at >= n ? n - 1 : at;
        map[i] = at < 0 || at >= n ? -1 : i / length * n + at;
    }
    return map ? node_gather(tape, x, 2, shape, map, 0) : x;
}

/* The window in the middle of n_fft places, ones by default. */
static struct node *window_of(struct call *call, int64_t n_fft, enum dtype dtype)
{
    struct tape *tape = call->tape;
    int64_t length = call_is_none(call, "win_length") ? n_fft : call_int(call, "win_length");
    struct node *window = call_optional_tensor(call, "window");
    if (!call_require(call, length >= 1 && length <= n_fft, "a window of %lld places of %lld",
                      (long long)length, (long long)n_fft))
        return node_scalar(tape, 1);
    if (!window) window = node_constant(tape, dtype, 1, 1, &length);
    if (!call_require(call, window->rank == 1 && window->shape[0] == length,
                      "the window does not have win_length elements"))
        return window;
    int64_t before = (n_fft - length) / 2, after = n_fft - length - before;
    struct node *parts[3] = { node_constant(tape, window->dtype, 0, 1, &before), window,
                              node_constant(tape, window->dtype, 0, 1, &after) };
    return node_concatenate(tape, parts, 3, 0);
}

/* Spectra of frames of n_fft samples, every hop_length: (batch, frequencies, frames). */
static void stft(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = spectrum_signal(call, call_tensor(call, "input"));
    int64_t n = call_int(call, "n_fft"), batch = x->rank == 2 ? x->shape[0] : 1;
    int64_t hop = call_is_none(call, "hop_length") ? n / 4 : call_int(call, "hop_length");
    if (!call_require(call,
                      (x->rank == 1 || x->rank == 2) && n >= 1 && hop >= 1 && n <= INT32_MAX &&
                          hop <= INT32_MAX,
                      "stft takes one or two dimensions, positive frames and steps"))
        return;
    bool one = x->rank == 1;
    enum dtype part = spectrum_part(x);
    x = node_reshape(tape, x, 2, (int64_t[]){ batch, x->shape[x->rank - 1] });
    if (!call->op->detail && call_bool(call, "center"))
        x = centred(call, x, n / 2, call_string(call, "pad_mode"));
    int64_t length = x->shape[1];
    if (!call_require(call, n <= length, "frames of %lld of %lld samples", (long long)n,
                      (long long)length))
        return;
    int64_t frames = (length - n) / hop + 1, shape[3] = { batch, frames, n };
    struct node *window = window_of(call, n, part);
    struct node *framed = node_view(tape, x, 3, shape, (int64_t[]){ length, hop, 1 }, 0);
    framed = node_multiply(tape, framed, window);
    struct spectrum spectrum = { .count = 1, .dims = { 2 }, .points = { n } };
    bool real = !framed->imaginary;
    bool onesided = call_is_none(call, "onesided") ? real : call_bool(call, "onesided");
    struct node *y = real ? spectrum_of_real(call, framed, &spectrum, onesided)
                          : spectrum_over(call, framed, &spectrum, 1, true);
    spectrum.scale = call_bool(call, "normalized") ? SCALE_ROOT : SCALE_NONE;
    y = node_transpose(tape, spectrum_scaled(tape, y, &spectrum), 1, 2);
    if (one) y = node_reshape(tape, y, 2, y->shape + 1);
    if (call_is_none(call, "return_complex") ? !real : call_bool(call, "return_complex")) {
        spectrum_return(call, y, part);
        return;
    }
    int64_t pair[TENSOR_MAX_RANK];
    memcpy(pair, y->shape, sizeof pair);
    pair[y->rank] = 1;
    struct node *parts[2] = { node_reshape(tape, node_real_part(tape, y), y->rank + 1, pair),
                              node_reshape(tape, node_imaginary_part(tape, y), y->rank + 1, pair) };
    call_return_typed(call, node_concatenate(tape, parts, 2, y->rank), part);
}

/* What frames, every `hop` of `length` samples, leave of a signal. */
struct signal {
    int64_t hop, length, start, count;
};

/* Frames (batch, frames, n) added where they lie, and what is left of them. */
static struct node *overlapped(struct tape *tape, struct node *frames, const struct signal *signal)
{
    if (frames->imaginary)
        return node_complex(tape, overlapped(tape, node_real_part(tape, frames), signal),
                            overlapped(tape, node_imaginary_part(tape, frames), signal));
    int64_t shape[2] = { frames->shape[0], signal->length }, n = frames->shape[2];
    int64_t *map = tape_allocate(tape, frames->n, sizeof *map);
    for (size_t i = 0; map && i < frames->n; i++) {
        int64_t frame = (int64_t)i / n % frames->shape[1],
                batch = (int64_t)i / n / frames->shape[1];
        map[i] = batch * signal->length + frame * signal->hop + (int64_t)i % n;
    }
    if (!map) return frames;
    struct node *whole = node_scatter_add(tape, frames, 2, shape, map);
    return node_slice(tape, whole, 1, signal->start, signal->count, 1);
}

/* The spectra as complex numbers (batch, frames, frequencies); *one tells whether there was no batch. */
static struct node *read_spectra(struct call *call, bool *one)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    if (!x->imaginary && x->rank >= 3 && x->shape[x->rank - 1] == 2) {
        struct node *re = node_slice(tape, x, x->rank - 1, 0, 1, 1),
                    *im = node_slice(tape, x, x->rank - 1, 1, 1, 1);
        x = node_complex(tape, node_reshape(tape, re, x->rank - 1, x->shape),
                         node_reshape(tape, im, x->rank - 1, x->shape));
    }
    *one = x->rank == 2;
    if (!call_require(call, x->imaginary && (x->rank == 2 || x->rank == 3),
                      "istft takes complex spectra of two or three dimensions"))
        return x;
    int64_t shape[3] = { 1, x->shape[x->rank - 2], x->shape[x->rank - 1] };
    if (!*one) shape[0] = x->shape[0];
    return node_transpose(tape, node_reshape(tape, x, 3, shape), 1, 2);
}

/* The signal whose frames have these spectra: overlapped frames by overlapped squares of the window, which may be complex where
 * the signal is. */
static void istft(struct call *call)
{
    struct tape *tape = call->tape;
    bool one;
    struct node *x = read_spectra(call, &one), *y;
    int64_t n = call_int(call, "n_fft");
    int64_t hop = call_is_none(call, "hop_length") ? n / 4 : call_int(call, "hop_length");
    if (!call_require(call, n >= 1 && hop >= 1 && n <= INT32_MAX && hop <= INT32_MAX && x->n,
                      "istft takes positive frames and steps"))
        return;
    enum dtype part = spectrum_part(x);
    int64_t frames = x->shape[1], length = n + hop * (frames - 1);
    struct spectrum spectrum = { .count = 1, .dims = { 2 }, .points = { n } };
    bool onesided = call_is_none(call, "onesided") ? x->shape[2] != n : call_bool(call, "onesided");
    bool complex_valued = call_bool(call, "return_complex");
    if (!call_require(call, x->shape[2] == (onesided ? n / 2 + 1 : n),
                      "%lld frequencies of frames of %lld", (long long)x->shape[2], (long long)n))
        return;
    /* Of a real signal only the lower half of both sides is read. */
    if (!onesided && !complex_valued) x = node_slice(tape, x, 2, 0, n / 2 + 1, 1);
    y = complex_valued && !onesided ? spectrum_over(call, x, &spectrum, 1, false)
                                    : spectrum_to_real(call, x, &spectrum);
    if (!complex_valued) y = node_real_part(tape, y);
    spectrum.scale = call_bool(call, "normalized") ? SCALE_ROOT : SCALE_ALL;
    struct node *window = window_of(call, n, part);
    if (!complex_valued) window = node_real_part(tape, window);
    y = node_multiply(tape, spectrum_scaled(tape, y, &spectrum), window);
    struct node *weights =
        node_broadcast(tape, node_multiply(tape, window, window), 3, (int64_t[]){ 1, frames, n });
    bool center = call_bool(call, "center");
    int64_t start = center ? n / 2 : 0, end = center ? length - n / 2 : length, wanted = -1;
    if (!call_is_none(call, "length")) {
        wanted = call_int(call, "length");
        if (!call_require(call, wanted >= 0 && wanted <= INT32_MAX, "a signal of %lld samples",
                          (long long)wanted))
            return;
        end = start + wanted < length ? start + wanted : length;
    }
    if (!call_require(call, start < end, "the frames leave no signal")) return;
    const struct signal signal = { hop, length, start, end - start };
    y = node_divide(tape, overlapped(tape, y, &signal), overlapped(tape, weights, &signal));
    if (wanted > signal.count) y = spectrum_resized(tape, y, 1, wanted);
    if (one) y = node_reshape(tape, y, 1, y->shape + 1);
    spectrum_return(call, y, part);
}

/* clang-format off */
#define FRAMES "(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None"
const struct op ops_frames[] = {
    { "stft", ATEN, FRAMES ", bool normalized=False, bool? onesided=None, bool? return_complex=None)", stft, OP_ONE_NODE, 1, NULL },
    { "stft", TENSOR | TORCH | ATEN, FRAMES ", bool center=True, str pad_mode='reflect', bool normalized=False, bool? onesided=None, bool? return_complex=None)", stft, OP_ONE_NODE, 0, NULL },
    { "stft", TENSOR | TORCH, FRAMES ", bool normalized=False, bool? onesided=None, bool? return_complex=None)", stft, OP_ONE_NODE, 1, NULL },
    { "istft", TENSOR | TORCH, FRAMES ", bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False)", istft, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(frames);
