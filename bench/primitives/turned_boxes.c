/* One rectangle is put into the axes of the other, where that is a window, and cut at its four sides, one after the other
 * (Sutherland and Hodgman 1974); the area of the polygon that is left is the sum of its cross products (the shoelace
 * formula). In long double.
 *
 * Error. Let S be the sum of both diagonals; boxes whose centres are farther apart share nothing, and otherwise no coordinate
 * exceeds S. With u the unit roundoff of long double, sine, cosine and the rotation put each corner within 16 u S of its
 * place. A cut puts a new corner on the line of the cut, between two corners: the place on their edge that it stands
 * for is within 4 u S of that line, because the computed fraction of the edge errs by at most 4 u S over the distance
 * that the edge covers across the line. So each of the four cuts moves the border by no more than 4 u S, and what
 * is moved is at most the border's length, 4 S, times that. The cross products of up to eight corners add 8 x 4 u S^2:
 *     |area - exact| <= 4 S (16 + 4 x 4) u S + 32 u S^2 = 160 u S^2, of which ERROR makes 256.
 */
#include "bench/primitives/turned_boxes.h"

#include <arb.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/tape/enclosure.h"

static const long double degree = 0.017453292519943295769236907684886127L, ERROR = 256;

enum { MOST_CORNERS = 8 }; /* four, and each cut of a convex polygon adds one at most */

struct polygon {
    int count;
    long double at[MOST_CORNERS][2];
};

static double diagonal(const struct turned_box *box) { return hypot(box->size[0], box->size[1]); }

/* Sine and cosine, exact at multiples of 90 degrees. */
static void turn(double degrees, long double *sine, long double *cosine)
{
    static const int quarter[4][2] = { { 0, 1 }, { 1, 0 }, { 0, -1 }, { -1, 0 } };
    double rest = fmod(degrees, 360);
    if (rest < 0) rest += 360;
    if (fmod(rest, 90) == 0) {
        int k = (int)(rest / 90) & 3;
        *sine = quarter[k][0];
        *cosine = quarter[k][1];
        return;
    }
    *sine = sinl((long double)rest * degree);
    *cosine = cosl((long double)rest * degree);
}

/* The corners of `box` in the axes of `frame`. */
static void place(struct polygon *out, const struct turned_box *box, const struct turned_box *frame)
{
    static const int sign[4][2] = { { -1, -1 }, { 1, -1 }, { 1, 1 }, { -1, 1 } };
    long double s, c, sine, cosine, centre[2];
    long double x = (long double)box->centre[0] - frame->centre[0],
                y = (long double)box->centre[1] - frame->centre[1];
    turn(frame->degrees, &s, &c);
    centre[0] = c * x + s * y;
    centre[1] = c * y - s * x;
    turn(box->degrees, &sine, &cosine);
    long double turned_sine = sine * c - cosine * s, turned_cosine = cosine * c + sine * s;
    out->count = 4;
    for (int k = 0; k < 4; k++) {
        long double w = sign[k][0] * 0.5L * box->size[0], h = sign[k][1] * 0.5L * box->size[1];
        out->at[k][0] = centre[0] + turned_cosine * w - turned_sine * h;
        out->at[k][1] = centre[1] + turned_sine * w + turned_cosine * h;
    }
}

/* What of the polygon lies where side * coordinate d <= limit. */
static void cut(struct polygon *polygon, int d, int side, long double limit)
{
    struct polygon in = *polygon;
    polygon->count = 0;
    for (int k = 0; k < in.count; k++) {
        const long double *from = in.at[k], *to = in.at[(k + 1) % in.count];
        long double inside = limit - side * from[d], next = limit - side * to[d];
        if (inside >= 0 && polygon->count < MOST_CORNERS)
            memcpy(polygon->at[polygon->count++], from, sizeof in.at[0]);
        if ((inside >= 0) == (next >= 0) || polygon->count == MOST_CORNERS) continue;
        long double *corner = polygon->at[polygon->count++];
        long double fraction = inside / (inside - next);
        corner[d] = side * limit;
        corner[!d] = from[!d] + fraction * (to[!d] - from[!d]);
    }
}

static long double area_of(const struct polygon *polygon)
{
    long double twice = 0;
    for (int k = 0; k < polygon->count; k++) {
        const long double *a = polygon->at[k], *b = polygon->at[(k + 1) % polygon->count];
        twice += a[0] * b[1] - a[1] * b[0];
    }
    return twice > 0 ? twice / 2 : 0;
}

/* Is `polygon` outside of the window of `frame` on one side, by more than `margin`? Of two boxes that do not meet, one is so
 * outside of the other. With a margin of 0, touching is outside. */
static bool is_outside(const struct polygon *polygon, const struct turned_box *frame,
                       long double margin)
{
    for (int d = 0; d < 2; d++)
        for (int side = -1; side <= 1; side += 2) {
            bool outside = true;
            for (int k = 0; k < polygon->count; k++)
                outside = outside && side * polygon->at[k][d] >= 0.5L * frame->size[d] + margin;
            if (outside) return true;
        }
    return false;
}

/* Do both have sides along the axes of their coordinates? */
static bool are_upright(const struct turned_box *a, const struct turned_box *b)
{
    return fmod(a->degrees, 90) == 0 && fmod(b->degrees, 90) == 0;
}

static bool is_finite_box(const struct turned_box *box)
{
    return isfinite(box->centre[0]) && isfinite(box->centre[1]) && isfinite(box->size[0]) &&
           isfinite(box->size[1]) && isfinite(box->degrees);
}

double turned_boxes_shared_area(const struct turned_box *a, const struct turned_box *b,
                                double *error)
{
    *error = 0;
    if (!is_finite_box(a) || !is_finite_box(b)) return NAN;
    double apart = hypot(a->centre[0] - b->centre[0], a->centre[1] - b->centre[1]),
           span = diagonal(a) + diagonal(b);
    if (apart * (1 - 0x1p-40) > span / 2) return 0;
    struct polygon polygon, other;
    place(&polygon, a, b);
    place(&other, b, a);
    /* The coordinates of upright boxes are sums of a few inputs and as good as exact, so that touching is no matter of
     * rounding there. */
    long double margin = are_upright(a, b) ? 0 : 32 * LDBL_EPSILON * (long double)span;
    if (is_outside(&polygon, b, margin) || is_outside(&other, a, margin)) return 0;
    for (int d = 0; d < 2; d++)
        for (int side = -1; side <= 1; side += 2) cut(&polygon, d, side, 0.5L * b->size[d]);
    *error = (double)(ERROR * LDBL_EPSILON * (long double)span * (long double)span);
    return (double)area_of(&polygon);
}

double turned_boxes_sensitivity(const struct turned_box *a, const struct turned_box *b)
{
    double far = 0;
    for (int d = 0; d < 2; d++) far = fmax(far, fmax(fabs(a->centre[d]), fabs(b->centre[d])));
    double border = 2 * fmin(a->size[0] + a->size[1], b->size[0] + b->size[1]);
    return border * (far + diagonal(a) + diagonal(b));
}

/* ---- as a primitive ---------------------------------------------------------------------------------------- */

struct turned_box turned_box_of(const double *row)
{
    return (struct turned_box){ { row[0], row[1] }, { row[2], row[3] }, row[4] };
}

static void shared_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    size_t m = (size_t)node->shape[2], n = (size_t)node->shape[1], batch = i / (n * m);
    struct turned_box a = turned_box_of(node->inputs[0]->value + 5 * (i / m)),
                      b = turned_box_of(node->inputs[1]->value + 5 * (batch * m + i % m));
    double error, area = turned_boxes_shared_area(&a, &b, &error);
    enclosure->work++;
    if (!isfinite(area)) {
        arb_indeterminate(ball);
        return;
    }
    arb_set_d(ball, area);
    mag_t radius;
    mag_init(radius);
    mag_set_d(radius, error + fabs(area) * 0x1p-53);
    mag_add(arb_radref((arb_ptr)ball), arb_radref((arb_ptr)ball), radius);
    mag_clear(radius);
}

static const struct primitive shared_primitive = { "the area that turned boxes share", NULL,
                                                   shared_enclose, NULL };

struct node *node_turned_boxes_shared(struct tape *tape, struct node *a, struct node *b)
{
    struct node *inputs[2] = { a, b };
    const double *rows = node_values(tape, a), *columns = node_values(tape, b);
    if (tape_failed(tape)) return tape_failure(tape);
    int64_t shape[3] = { a->shape[0], a->shape[1], b->shape[1] };
    struct node *node = node_new(tape, &shared_primitive, a->dtype, 3, shape, 2, inputs, NULL);
    if (!node_need_errors(tape, node) && tape_is_reference(tape)) return tape_failure(tape);
    size_t n = (size_t)shape[1], m = (size_t)shape[2];
    for (size_t i = 0; i < node->n && !tape_failed(tape); i++) {
        struct turned_box x = turned_box_of(rows + 5 * (i / m)),
                          y = turned_box_of(columns + 5 * (i / (n * m) * m + i % m));
        double error, area = turned_boxes_shared_area(&x, &y, &error);
        node->value[i] = area;
        if (!node->error) continue;
        node->error[i] = error + fabs(area) * 0x1p-53;
        if (tape_is_model(tape))
            node->error[i] += 8 * tape->unit * turned_boxes_sensitivity(&x, &y);
    }
    node_round(tape, node);
    return node;
}
