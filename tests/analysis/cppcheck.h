/* What cppcheck must know of the system's headers, which it does not read. */
#define cJSON_ArrayForEach(item, array) \
    for (item = (array) ? (array)->child : NULL; item; item = item->next)
