/* The full name of a call in its parts. */
#ifndef PROBE_FORMATS_CALL_NAME_H
#define PROBE_FORMATS_CALL_NAME_H

#include "core/arena.h"
#include "core/case.h"
#include "core/status.h"

/* Set `type` and `api` from `full_name`. A name that is not TYPE.API.NUMBER has the type "" and is an API as a
 * whole, which nobody knows. Functions of torch.linalg that dumpers call Torch.inv are "linalg.inv".
 * STATUS_NO_MEMORY only. */
struct status call_name_split(struct api_case *out, struct arena *arena);

#endif
