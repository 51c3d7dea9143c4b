/* Notes of a handler to the program, in the header that both see. */
#include "runner/devices/process/isolated.h"

#include <stdio.h>
#include <string.h>

void isolated_doing(struct isolated *isolated, const char *function)
{
    char *doing = isolated->header->doing;
    size_t room = sizeof isolated->header->doing, length = strnlen(function, room - 1);
    memcpy(doing, function, length);
    doing[length] = '\0';
}

void isolated_answer(struct isolated *isolated, struct status st)
{
    isolated->header->code = (int32_t)st.code;
    (void)snprintf(isolated->header->text, sizeof isolated->header->text, "%s", st.text);
}

void isolated_handle(struct isolated *isolated, isolation_handler *handler, const void *request,
                     uint64_t bytes, bool starting)
{
    isolated_answer(isolated, handler(isolated, request, bytes, starting));
}
