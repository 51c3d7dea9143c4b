/* The local time as fourteen digits. */
#include "core/timestamp.h"

struct status timestamp_of(struct timestamp *out, time_t when)
{
    struct tm local;
    if (localtime_r(&when, &local) &&
        strftime(out->text, sizeof out->text, "%Y%m%d%H%M%S", &local) == TIMESTAMP_DIGITS)
        return status_ok();
    return status_error(STATUS_IO, "the local time is not known");
}
