/* Arguments from the last to the first, so that what is left keeps its place. */
#include <string.h>

#include "shrink/reductions.h"
#include "variation/leaves.h"

static struct status try_call(bool *accepted, bool *changed, struct search *search,
                              struct api_case *c)
{
    TRY(search_try(accepted, search, c));
    *changed |= *accepted;
    return status_ok();
}

static struct status drop_backward(bool *changed, struct search *search)
{
    struct api_case c;
    bool accepted;
    if (search->failure.backward || !search->best.has_backward) return status_ok();
    TRY(search_copy(&c, search));
    c.has_backward = false;
    c.cotangents = (struct value){ .kind = VALUE_LIST };
    return try_call(&accepted, changed, search, &c);
}

static void remove_item(struct value *list, size_t i)
{
    size_t behind = list->list.count - i - 1;
    memmove(&list->list.items[i], &list->list.items[i + 1], behind * sizeof *list->list.items);
    if (list->kind == VALUE_DICT)
        memmove(&list->list.keys[i], &list->list.keys[i + 1], behind * sizeof *list->list.keys);
    list->list.count--;
}

static struct status drop_keywords(bool *changed, struct search *search)
{
    for (size_t i = search->best.kwargs.list.count; i-- > 0 && !search_is_over(search);) {
        struct api_case c;
        bool accepted;
        TRY(search_copy(&c, search));
        remove_item(&c.kwargs, i);
        TRY(try_call(&accepted, changed, search, &c));
    }
    return status_ok();
}

/* Positional arguments can go from the end only; before that they can become None. */
static struct status drop_positional(bool *changed, struct search *search)
{
    bool last = true;
    for (size_t i = search->best.args.list.count; i-- > 0 && !search_is_over(search);) {
        struct api_case c;
        bool accepted = false;
        TRY(search_copy(&c, search));
        if (last) {
            remove_item(&c.args, i);
            TRY(try_call(&accepted, changed, search, &c));
            last = accepted;
        }
        if (accepted || search->best.args.list.items[i].kind == VALUE_NONE) continue;
        TRY(search_copy(&c, search));
        c.args.list.items[i] = (struct value){ .kind = VALUE_NONE };
        TRY(try_call(&accepted, changed, search, &c));
    }
    return status_ok();
}

/* Items of an argument that is a list of tensors. */
static struct status drop_items(bool *changed, struct search *search)
{
    for (size_t a = 0; a < search->best.args.list.count; a++) {
        const struct value *list = &search->best.args.list.items[a];
        if (list->kind != VALUE_LIST || !value_count_tensors(list)) continue;
        for (size_t i = list->list.count; i-- > 0 && !search_is_over(search);) {
            struct api_case c;
            bool accepted;
            TRY(search_copy(&c, search));
            remove_item(&c.args.list.items[a], i);
            TRY(try_call(&accepted, changed, search, &c));
        }
    }
    return status_ok();
}

/* ---- numbers ---------------------------------------------------------------------------- */

static double number_of(const struct value *value)
{
    switch (value->kind) {
    case VALUE_BOOL: return value->boolean;
    case VALUE_INT: return (double)value->integer;
    default: return value->real;
    }
}

static void set_number(struct value *value, int simple)
{
    switch (value->kind) {
    case VALUE_BOOL: value->boolean = simple != 0; break;
    case VALUE_INT: value->integer = simple; break;
    default: value->real = simple; break;
    }
}

/* 0, 1, any other. */
static int rank_of(double number) { return number == 0 ? 0 : number == 1 ? 1 : 2; }

static struct status simplify_numbers(bool *changed, struct search *search)
{
    const struct value *leaf;
    for (size_t k = 0; (leaf = leaf_find(&search->best, LEAF_NUMBER, k)); k++) {
        int rank = rank_of(number_of(leaf));
        bool accepted = false;
        for (int simple = 0; simple < rank && simple < 2 && !accepted; simple++) {
            struct api_case c;
            if (search_is_over(search)) return status_ok();
            TRY(search_copy(&c, search));
            set_number(leaf_find(&c, LEAF_NUMBER, k), simple);
            TRY(try_call(&accepted, changed, search, &c));
        }
    }
    return status_ok();
}

struct status reduce_arguments(bool *changed, struct search *search)
{
    TRY(drop_backward(changed, search));
    TRY(drop_keywords(changed, search));
    TRY(drop_positional(changed, search));
    TRY(drop_items(changed, search));
    return simplify_numbers(changed, search);
}
