/* TYPE.API.NUMBER, where the API may have a dot of its own. */
#include "formats/call_name.h"

#include <string.h>

/* APIs of torch.linalg that torch itself does not have: the dumper drops the sub-module, so
 * their names are unambiguous. (Checked against torch 1.13. torch.matrix_rank, eig, lstsq and
 * solve exist there, if only to raise an error, and are for the bench to tell apart.) */
/* clang-format off */
static const char *const linalg_only[] = {
    "cholesky_ex",   "cond",         "eigh",        "eigvals",     "eigvalsh",
    "householder_product", "inv",    "inv_ex",      "ldl_factor",  "ldl_factor_ex",
    "ldl_solve",     "lu_factor",    "lu_factor_ex", "matrix_norm", "multi_dot",
    "pinv",          "solve_ex",     "solve_triangular", "svdvals", "tensorinv",
    "tensorsolve",   "vecdot",       "vector_norm",
};
/* clang-format on */

static bool split(const char **type, const char **api, struct arena *arena, const char *full_name)
{
    const char *first = strchr(full_name, '.'), *last = strrchr(full_name, '.');
    int segments = 1;

    for (const char *p = full_name; *p; p++) segments += *p == '.';
    if (segments < 3) {
        *type = first ? arena_copy_bytes(arena, full_name, (size_t)(first - full_name)) : "";
        *api = arena_copy_string(arena, first ? first + 1 : full_name);
        return false;
    }
    *type = arena_copy_bytes(arena, full_name, (size_t)(first - full_name));
    *api = arena_copy_bytes(arena, first + 1, (size_t)(last - first - 1));
    return segments <= 4;
}

struct status call_name_split(struct api_case *out, struct arena *arena)
{
    bool understood = split(&out->type, &out->api, arena, out->full_name);

    if (!out->type || !out->api) return status_no_memory(strlen(out->full_name));
    if (!understood) {
        out->type = "";
        out->api = out->full_name;
    }
    if (strcmp(out->type, "Torch") != 0) return status_ok();
    for (size_t i = 0; i < sizeof linalg_only / sizeof *linalg_only; i++) {
        if (strcmp(out->api, linalg_only[i]) != 0) continue;
        out->api = arena_format(arena, "linalg.%s", linalg_only[i]);
        return out->api ? status_ok() : status_no_memory(0);
    }
    return status_ok();
}
