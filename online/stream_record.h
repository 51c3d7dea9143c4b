/* The record of our own client: the arguments and results of a call in the encoding of dumps, and the
 * bytes of its tensors.
 *
 *      0  u32  bytes of the name        8  u32  tensors
 *      4  u32  bytes of the entry      12  i32  rank, -1 outside torch.distributed
 *     16  i64  step
 *     24       per tensor: u64 offset in the body, a multiple of 16; u64 bytes
 *              name ("Functional.linear.0"), entry, tensors
 *
 * The entry is the text of a forward entry of a dump (formats/dump.h): {"input_args": [...],
 * "input_kwargs": {...}, "output": [...]}. Of a tensor it has dtype and shape, and "data_name" is its number
 * in the table. Elements are dense, row-major and little-endian. All integers are little-endian.
 */
#ifndef PROBE_ONLINE_STREAM_RECORD_H
#define PROBE_ONLINE_STREAM_RECORD_H

#include "online/record.h"

/* As record_decode; `inputs_before` is true. A tensor that is not what the table says makes the record
 * unusable. */
record_decoder stream_record_decode;

#endif
