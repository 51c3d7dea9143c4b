/* The axes of a call: extents that can only change together.
 *
 * K of a matrix product is dimension 1 of one operand and dimension 0 of the other; the length of a
 * normalized row is a dimension of three tensors and a number in a list. What belongs together is not
 * written down anywhere per API: it is found by changing an extent and asking the bench whether the call
 * is still valid.
 */
#ifndef PROBE_VARIATION_AXES_H
#define PROBE_VARIATION_AXES_H

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

enum { AXIS_SLOTS = 128, AXIS_NAME_BYTES = 200 };

/* An extent of a tensor argument, or an integer argument that may stand for one. */
struct slot {
    bool integer;
    size_t number; /* of the leaf: LEAF_ARGUMENT or LEAF_INTEGER */
    int dimension; /* of a tensor */
    int64_t size;
};

struct slots {
    struct slot items[AXIS_SLOTS];
    size_t count;
};

/* The same place, whatever its extent? */
static inline bool slot_is_same(const struct slot *a, const struct slot *b)
{
    return a->integer == b->integer && a->number == b->number && a->dimension == b->dimension;
}

/* The extent of a slot now. */
int64_t slot_extent(const struct slot *slot, const struct api_case *c);

/* All slots of extent 2 or more. Those beyond AXIS_SLOTS are left out, and so left alone. */
void slots_list(struct slots *out, const struct api_case *c);

struct axis {
    struct slots slots; /* the first is the one that it was asked for */
    int64_t size;       /* of the first; the others keep their ratio to it */
};

/* How the ties are asked for: by growing the axis, which no broadcast hides; by cutting it, for APIs that
 * take an operand which is smaller than another; or not: all equal extents together, for devices that ask
 * for more than the bench does. */
enum axis_probe { PROBE_GROW, PROBE_CUT, PROBE_ALL };

/* The axis of a slot. *found is false when no change of it is valid. `c` is not changed. */
struct status axis_find(struct axis *out, bool *found, const struct api_case *c,
                        const struct slots *all, size_t slot, enum axis_probe probe);

/* The axes of a call that a tensor's dimension is on, in the order of its arguments, at most `most` of them; each can be given
 * another size while the others keep theirs. `c` is not changed. */
struct status axes_list(struct axis *out, size_t *count, size_t most, const struct api_case *c);

/* Which elements stay when an axis is cut. */
enum axis_side { SIDE_FRONT, SIDE_BACK };

/* Give the axis of a copy another size. Beyond their old extent elements repeat. STATUS_SKIP when the
 * ratio of a slot does not allow it. The call is to be settled afterwards. */
struct status axis_resize(struct api_case *c, struct arena *arena, const struct axis *axis,
                          int64_t size, enum axis_side side);

/* Integer elements that are at least `size` and below `before` (indices into the axis before it was
 * cut) become those modulo `size`. *any: there were some. */
void axis_wrap_indices(bool *any, struct api_case *c, int64_t before, int64_t size);

/* "K (dimension 1 of self, dimension 0 of mat2)", "dimension 1 of input": the letters M, N and K in matrix
 * products, and the parameters by their names. */
void axis_name(char out[AXIS_NAME_BYTES], const struct axis *axis, const struct api_case *c);

#endif
