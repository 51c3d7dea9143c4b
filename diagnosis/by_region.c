/* Where the wrong elements sit, when nothing says what they are. Their values stay unexplained, so such a
 * hypothesis wins against none that explains them. */
#include "diagnosis/hypothesis.h"
#include "standards/error_places.h"

static struct status find_places(struct places_found *found, char text[PLACES_TEXT_BYTES],
                                 struct subject *s)
{
    struct error_places *places;
    TRY(error_places_open(&places, s->arena, s->rank, s->shape));
    for (size_t i = 0; i < s->n; i++)
        if (subject_is_wrong(s, i)) error_places_add(places, i);
    error_places_find(found, places);
    places_text(text, found);
    return status_ok();
}

/* Does a range of indices end where the axis does, and begin later? */
static bool is_tail(const struct axis_places *axis)
{
    return axis->form == PLACE_RANGE && axis->first > 0 && axis->last == axis->extent - 1;
}

struct form {
    bool tail, tile;
};

static struct form form_of(const struct places_found *found)
{
    struct form form = { is_tail(&found->flat), found->blocks.side > 1 };
    int ranges = 0;
    form.tile |= found->flat.form == PLACE_STEP;
    for (int d = 0; d < found->rank; d++) {
        const struct axis_places *axis = &found->axes[d];
        form.tail |= is_tail(axis);
        form.tile |= axis->form == PLACE_STEP;
        ranges += axis->form == PLACE_RANGE;
    }
    form.tile |= ranges > 0 && !form.tail;
    return form;
}

/* A few elements that are grossly wrong among many that are right. */
enum { FEW = 8, RIGHT_PER_FEW = 32 };
static const double grossly = 64;

static bool is_few(const struct subject *s)
{
    bool few = s->wrong <= FEW && s->wrong * RIGHT_PER_FEW <= s->n;
    for (size_t i = 0; few && i < s->n; i++) few = s->z[i] <= 1 || s->z[i] > grossly;
    return few;
}

/* The bits of the values, which the region leaves unexplained. */
static double bits_of_wrong(const struct subject *s)
{
    double bits = 0;
    for (size_t i = 0; i < s->n; i++)
        if (subject_is_wrong(s, i)) bits += subject_element_bits(s->z[i]);
    return bits;
}

static struct status places(struct subject *s, const struct hypothesis *h)
{
    struct places_found found;
    char text[PLACES_TEXT_BYTES];
    if (s->wrong * 2 > s->n) return status_ok();
    TRY(find_places(&found, text, s));
    struct form form = form_of(&found);
    bool few = is_few(s);
    if (!few && !*text) return status_ok();
    for (size_t i = 0; i < s->n; i++) s->guess[i] = subject_is_wrong(s, i) ? s->got[i] : s->want[i];
    struct claim claim =
        few ? claim_make("single elements", bits_of_wrong(s), CLAIM_WHOLE,
                         s->wrong == 1 ? "one element wrong" : "%zu elements wrong", s->wrong)
            : claim_make(form.tail   ? "wrong tail"
                         : form.tile ? "tile boundary"
                                     : h->class,
                         bits_of_wrong(s) + h->bits, CLAIM_WHOLE, "wrong values: %s", text);
    return subject_offer(s, &claim, s->guess);
}

/* clang-format off */
const struct hypothesis region_hypotheses[] = {
    { "wrong part", 10, places },
    { .class = NULL },
};
/* clang-format on */
