/* Which call a row belongs to: rows are numbered by the run, calls by the dump. */
#include "results/call_order.h"

const char *call_order_name(const struct call_order *order, size_t i)
{
    return dump_name(order->dump, order->positions[i]);
}
