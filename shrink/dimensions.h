/* What the search learns about the extents of a call: from which one on it fails. */
#ifndef PROBE_SHRINK_DIMENSIONS_H
#define PROBE_SHRINK_DIMENSIONS_H

#include "shrink/search.h"
#include "variation/axes.h"

enum { DIMENSIONS_MOST = 32, DIMENSION_SAMPLES = 24 };

/* An axis in the course of the search. */
struct dimension {
    char name[AXIS_NAME_BYTES];
    struct axis axis;
    int64_t from; /* its extent in the call of the dump */
    int64_t to;   /* and in the smallest one */
    struct {
        int64_t size;
        bool fails;
    } samples[DIMENSION_SAMPLES]; /* of the smallest call at other extents, in order of size */
    size_t n_samples;
};

struct dimensions {
    struct dimension items[DIMENSIONS_MOST];
    size_t count;
};

/* The axes of a call with their extents. They are known by their places among the arguments: when
 * arguments come or go, dimensions_renew has to follow. */
struct status dimensions_list(struct dimensions *out, const struct api_case *c);

/* Note the extents that the axes have now. */
void dimensions_update(struct dimensions *dimensions, const struct api_case *c);

/* The axes again, after a change of the arguments. Those of the same name stay the same ones; those that are
 * there no more keep the extents that were noted last. */
struct status dimensions_renew(struct dimensions *dimensions, const struct api_case *c);

/* Note the extents of the smallest call, and try it at extents around those, up to those of the call of the
 * dump, its elements repeated. */
struct status dimensions_sample(struct dimensions *dimensions, struct search *search);

/* What the samples say: "fails from K = 129 on (128 passes; 130, 192, 256 fail)". NULL when they say
 * nothing. Texts go to `arena`. */
struct status dimension_sentence(const char **out, struct arena *arena,
                                 const struct dimension *dimension);

#endif
