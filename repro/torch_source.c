/* Tensors, the call as one line of Python, and what is right; the rest is the same for all
 * (templates/torch_end.py). */
#include "repro/torch_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/embedded.h"
#include "core/file.h"
#include "core/whole_file.h"
#include "formats/pt.h"
#include "repro/source_data.h"
#include "repro/source_text.h"
#include "runner/devices/autocast.h"

struct torch_source {
    const char *directory;
    struct fault *fault;
    struct text_out text;
    size_t tensors; /* met so far in the walk at hand */
};

/* ---- tensors ---------------------------------------------------------------------------- */

/* Elements of any dtype as Python numbers: exact. */
static void put_elements(struct text_out *out, const struct tensor *dense)
{
    enum dtype dtype = dtype_component(dense->dtype);
    size_t width = dtype_info(dtype)->bytes, line = 0;
    size_t parts = dtype_is_complex(dense->dtype) ? 2 : 1, n = tensor_elements(dense) * parts;
    int digits = dtype == DT_F64 ? 17 : 9;
    text_out_string(out, "[");
    for (size_t i = 0; i < n; i++) {
        const unsigned char *at = (const unsigned char *)dense->data + i * width;
        size_t before = out->text.length;
        double x;
        int64_t k;
        if (i) text_out_string(out, line > 84 ? ",\n        " : ", ");
        if (line > 84) line = 0;
        if (parts == 2) text_out_string(out, i % 2 ? "" : "complex(");
        if (dtype == DT_BOOL) text_out_string(out, *at ? "True" : "False");
        else if (dtype_is_integral(dtype)) {
            dtype_to_int64(&k, at, dtype, 1);
            source_put(out, "%" PRId64, k);
        } else {
            dtype_to_double(&x, at, dtype, 1);
            source_put_real(out, x, digits, "math.nan", "math.inf");
        }
        if (parts == 2 && i % 2) text_out_string(out, ")");
        line += out->text.length - before;
    }
    text_out_string(out, "]");
}

/* "tensor([...], dtype=torch.float32).reshape([2, 3])", or a file. */
static struct status put_tensor(struct torch_source *s, const char *name,
                                const struct tensor *tensor)
{
    struct text_out *out = &s->text;
    struct tensor dense;
    TRY(tensor_densify(&dense, &s->fault->arena, tensor));
    size_t n = tensor_elements(&dense);
    if (n * dtype_info(dense.dtype)->bytes > SOURCE_DATA_BYTES) {
        char path[4200];
        int length = snprintf(path, sizeof path, "%s/%s.pt", s->directory, name);
        if (length < 0 || (size_t)length >= sizeof path)
            return status_error(STATUS_BAD_ARGUMENT, "'%.80s...' is too long a name", s->directory);
        if (file_exists(path)) TRY(file_remove(path));
        source_put(out, "torch.load(os.path.join(HERE, \"%s.pt\"))", name);
        return pt_write(path, &dense, &s->fault->arena);
    }
    text_out_string(out, "torch.tensor(");
    put_elements(out, &dense);
    source_put(out, ", dtype=%s)", dtype_info(dense.dtype)->name);
    if (dense.rank == 1 && n) return out->status;
    text_out_string(out, ".reshape([");
    for (int d = 0; d < dense.rank; d++)
        source_put(out, "%s%" PRId64, d ? ", " : "", dense.shape[d]);
    text_out_string(out, "])");
    return out->status;
}

static bool wants_gradient(const struct fault *fault, const struct value *value)
{
    enum dtype dtype = value->tensor.tensor->dtype;
    return fault->failure.backward && value->tensor.record && value->tensor.record->requires_grad &&
           (dtype_is_float(dtype) || dtype_is_complex(dtype));
}

/* x0 = ..., on the device, with its gradient wanted. */
static struct status put_assignment(struct torch_source *s, const struct value *value)
{
    struct text_out *out = &s->text;
    char name[32];
    (void)snprintf(name, sizeof name, "x%zu", s->tensors++);
    if (!value->tensor.tensor) return status_ok();
    source_put(out, "    %s = ", name);
    TRY(put_tensor(s, name, value->tensor.tensor));
    text_out_string(out, ".to(device)");
    if (wants_gradient(s->fault, value)) text_out_string(out, ".requires_grad_()");
    text_out_string(out, "\n");
    return out->status;
}

static struct status put_assignments(struct torch_source *s, const struct value *value)
{
    if (value->kind == VALUE_TENSOR) return put_assignment(s, value);
    if (!value_is_sequence(value)) return status_ok();
    for (size_t i = 0; i < value->list.count; i++) TRY(put_assignments(s, &value->list.items[i]));
    return status_ok();
}

/* ---- the call --------------------------------------------------------------------------- */

static struct status put_value(struct torch_source *s, const struct value *value);

static struct status put_items(struct torch_source *s, const struct value *list, const char *open,
                               const char *close)
{
    text_out_string(&s->text, open);
    for (size_t i = 0; i < list->list.count; i++) {
        if (i) text_out_string(&s->text, ", ");
        if (list->kind == VALUE_DICT) {
            source_put_string(&s->text, list->list.keys[i]);
            text_out_string(&s->text, ": ");
        }
        TRY(put_value(s, &list->list.items[i]));
    }
    text_out_string(&s->text, close);
    return status_ok();
}

/* A tensor that wants a gradient is handed over as a copy: in-place calls may not alter a leaf. */
static void put_tensor_name(struct torch_source *s, const struct value *value)
{
    size_t k = s->tensors++;
    if (!value->tensor.tensor) text_out_string(&s->text, "None");
    else source_put(&s->text, wants_gradient(s->fault, value) ? "x%zu.clone()" : "x%zu", k);
}

static struct status put_value(struct torch_source *s, const struct value *value)
{
    struct text_out *out = &s->text;
    switch (value->kind) {
    case VALUE_NONE: text_out_string(out, "None"); break;
    case VALUE_BOOL: text_out_string(out, value->boolean ? "True" : "False"); break;
    case VALUE_INT: source_put(out, "%" PRId64, value->integer); break;
    case VALUE_FLOAT: source_put_real(out, value->real, 17, "math.nan", "math.inf"); break;
    case VALUE_STRING: source_put_string(out, value->string); break;
    case VALUE_TENSOR: put_tensor_name(s, value); break;
    case VALUE_LIST: return put_items(s, value, "[", "]");
    case VALUE_DICT: return put_items(s, value, "{", "}");
    case VALUE_SLICE: return put_items(s, value, "slice(", ")");
    case VALUE_SIZE: return put_items(s, value, "torch.Size([", "])");
    case VALUE_ELLIPSIS: text_out_string(out, "..."); break;
    case VALUE_DTYPE: text_out_string(out, dtype_info(value->dtype)->name); break;
    case VALUE_DEVICE: text_out_string(out, "device"); break;
    case VALUE_MEMORY_FORMAT:
        text_out_string(out, "getattr(torch, ");
        source_put_string(out, value->string);
        text_out_string(out, ")");
        break;
    case VALUE_UNSUPPORTED:
        return status_error(STATUS_SKIP, "an argument that the dump could not record has no "
                                         "reproducer");
    }
    return out->status;
}

/* args and keyword arguments, from argument `first` on. */
static struct status put_arguments(struct torch_source *s, size_t first)
{
    struct text_out *out = &s->text;
    const struct value *args = &s->fault->c.args, *kwargs = &s->fault->c.kwargs;
    for (size_t i = first; i < args->list.count; i++) {
        if (i > first) text_out_string(out, ", ");
        TRY(put_value(s, &args->list.items[i]));
    }
    for (size_t i = 0; i < kwargs->list.count; i++) {
        if (i || args->list.count > first) text_out_string(out, ", ");
        const char *key = kwargs->list.keys[i];
        bool plain = source_is_python_name(key) && !strchr(key, '.');
        if (plain) {
            text_out_string(out, key);
            text_out_string(out, "=");
        } else {
            text_out_string(out, "**{");
            source_put_string(out, key);
            text_out_string(out, ": ");
        }
        TRY(put_value(s, &kwargs->list.items[i]));
        if (!plain) text_out_string(out, "}");
    }
    text_out_string(out, ")");
    return out->status;
}

/* Where the functions of a type are. torch.linalg and its like are dropped by dumps. */
static const struct {
    const char *type, *spaces;
} spaces[] = {
    { "Functional", "torch.nn.functional" },
    { "Torch", "torch, torch.linalg, torch.special, torch.fft" },
    { "VF", "torch._VF" },
    { "Aten", "torch.ops.aten" },
    { "NPU", "torch_npu()" },
};

/* A list as an index was a tuple. */
static struct status put_index(struct torch_source *s, const struct value *index)
{
    bool tuple = index->kind == VALUE_LIST && index->list.count > 0;
    return tuple ? put_items(s, index, "(", ",)") : put_value(s, index);
}

/* x0[index], or with a value x0.__setitem__(index, value), of which the result is x0. */
static struct status put_subscript(struct torch_source *s, bool assigns)
{
    struct text_out *out = &s->text;
    const struct value *args = s->fault->c.args.list.items;
    text_out_string(out, "    self = ");
    TRY(put_value(s, &args[0]));
    text_out_string(out, assigns ? "\n    self[" : "\n    out = self[");
    TRY(put_index(s, &args[1]));
    text_out_string(out, "]");
    if (!assigns) {
        text_out_string(out, "\n");
        return out->status;
    }
    text_out_string(out, " = ");
    TRY(put_value(s, &args[2]));
    text_out_string(out, "\n    out = self\n");
    return out->status;
}

static struct status put_call(struct torch_source *s)
{
    const struct api_case *c = &s->fault->c;
    struct text_out *out = &s->text;
    size_t count = c->args.list.count;
    bool method = !strcmp(c->type, "Tensor") && count && c->args.list.items[0].kind == VALUE_TENSOR;
    s->tensors = 0;
    if (method && !strcmp(c->api, "__getitem__") && count == 2) return put_subscript(s, false);
    if (method && !strcmp(c->api, "__setitem__") && count == 3) return put_subscript(s, true);
    if (!source_is_python_name(c->api))
        return status_error(STATUS_SKIP, "%s is no name in Python", c->api);
    if (method) {
        text_out_string(out, "    self = ");
        TRY(put_value(s, &c->args.list.items[0]));
        source_put(out, "\n    out = self.%s", c->api);
        text_out_string(out, "(");
        TRY(put_arguments(s, 1));
        text_out_string(out, "\n    out = self if out is None else out\n");
        return out->status;
    }
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (strcmp(spaces[i].type, c->type) != 0) continue;
        source_put(out, "    out = find(\"%s\", %s)(", c->api, spaces[i].spaces);
        TRY(put_arguments(s, 0));
        text_out_string(out, "\n");
        return out->status;
    }
    return status_error(STATUS_SKIP, "calls of the type %s have no reproducer", c->type);
}

/* ---- the result ------------------------------------------------------------------------- */

/* Cotangents of the outputs that have one, zeros for the others. */
static struct status put_backward(struct torch_source *s)
{
    struct text_out *out = &s->text;
    const struct value *list = &s->fault->c.cotangents;
    text_out_string(out, "    seeds = [\n");
    for (size_t i = 0; i < list->list.count; i++) {
        char name[32];
        text_out_string(out, "        ");
        (void)snprintf(name, sizeof name, "cotangent%zu", i);
        if (list->list.items[i].kind == VALUE_TENSOR && list->list.items[i].tensor.tensor)
            TRY(put_tensor(s, name, list->list.items[i].tensor.tensor));
        else text_out_string(out, "None");
        text_out_string(out, ",\n");
    }
    source_put(out, "    ]\n    return gradient(x%zu, flatten(out), seeds, device)\n",
               s->fault->failure.index);
    return out->status;
}

static struct status put_wanted(struct torch_source *s)
{
    struct fault *fault = s->fault;
    struct text_out *out = &s->text;
    const int64_t shape[] = { (int64_t)fault->n };
    struct tensor tensor;
    tensor_wrap(&tensor, fault->integers ? (void *)fault->integers : (void *)fault->want,
                fault->integers ? DT_I64 : DT_F64, 1, shape);
    text_out_string(out, "def want():\n    \"\"\"What is right, row-major: computed in higher "
                         "precision, with a proven bound on its own error.\"\"\"\n    return ");
    TRY(put_tensor(s, "want", &tensor));
    text_out_string(
        out, "\n\n\ndef allowed():\n    \"\"\"How far a right kernel may be off: its rounding "
             "errors in the worst order, and the last one.\"\"\"\n    return ");
    if (fault->integers) {
        text_out_string(out, "None\n");
        return out->status;
    }
    tensor_wrap(&tensor, fault->allowed, DT_F64, 1, shape);
    TRY(put_tensor(s, "allowed", &tensor));
    text_out_string(out, "\n");
    return out->status;
}

/* ---- all of it -------------------------------------------------------------------------- */

static void put_head(struct torch_source *s, const char *device, const char *title)
{
    const struct fault *fault = s->fault;
    const struct dtype_info *info = dtype_info(dtype_component(fault->dtype));
    struct text_out *out = &s->text;
    text_out_string(out, "#!/usr/bin/env python3\n\"\"\"");
    source_put_comment(out, title);
    text_out_string(out,
                    "\n\n    python3 reproducer.py [--device cpu|cuda|npu]\n\nExit status: 1 when "
                    "the fault is there, 0 when not, 2 when the device cannot be used.\n\"\"\"\n"
                    "import argparse\nimport math\nimport os\nimport sys\n\ntry:\n    import "
                    "torch\nexcept ImportError as missing:\n    print(f\"cannot load PyTorch: "
                    "{missing}\", file=sys.stderr)\n    sys.exit(2)\n\nROW = ");
    source_put_string(out, fault->failure.row);
    text_out_string(out, "\nDEVICE = ");
    source_put_string(out, device);
    text_out_string(out, "\nSHAPE = [");
    for (int d = 0; d < fault->rank; d++)
        source_put(out, "%s%" PRId64, d ? ", " : "", fault->shape[d]);
    source_put(out, "]\nDTYPE = \"%s\"\nIS_COMPLEX = %s\n",
               info ? dtype_info(fault->dtype)->name : "",
               dtype_is_complex(fault->dtype) ? "True" : "False");
    source_put(out,
               "FORMAT = (%d, %d)  # significant bits, smallest exponent\n"
               "HERE = os.path.dirname(os.path.abspath(__file__))\n\n\n",
               info->significand_bits, info->exponent_min);
}

/* torch.autocast where the arguments have several dtypes, as the run had it. */
static void put_context(struct torch_source *s)
{
    enum dtype autocast = case_autocast(&s->fault->c);
    if (autocast == DT_NONE) return;
    source_put(&s->text, "    torch.autocast(device.split(\":\")[0], dtype=%s).__enter__()\n",
               dtype_info(autocast)->name);
}

static const char *template_text(const char *name)
{
    for (const struct embedded_file *file = repro_files; file->name; file++)
        if (!strcmp(file->name, name)) return file->text;
    return "";
}

static struct status put_all(struct torch_source *s, const char *device, const char *title)
{
    struct text_out *out = &s->text;
    put_head(s, device, title);
    text_out_string(out, "def run(device):\n    \"\"\"The call.\"\"\"\n");
    s->tensors = 0;
    TRY(put_assignments(s, &s->fault->c.args));
    TRY(put_assignments(s, &s->fault->c.kwargs));
    put_context(s);
    TRY(put_call(s));
    if (s->fault->failure.backward) TRY(put_backward(s));
    else source_put(out, "    return flatten(out)[%zu]\n", s->fault->failure.index);
    text_out_string(out, "\n\n");
    TRY(put_wanted(s));
    text_out_string(out, template_text("torch_end.py"));
    return out->status;
}

struct status torch_source_write(const char *directory, struct fault *fault, const char *device,
                                 const char *title)
{
    struct torch_source s = { .directory = directory, .fault = fault };
    char path[4200];
    if (!fault->has_values)
        return status_error(STATUS_SKIP, "%s: %s: there are no values to compare",
                            fault->failure.row, fault->failure.sentence);
    struct status status = put_all(&s, device, title);
    int length = snprintf(path, sizeof path, "%s/reproducer.py", directory);
    if (!status.code && (length < 0 || (size_t)length >= sizeof path))
        status = status_error(STATUS_BAD_ARGUMENT, "'%.80s...' is too long a name", directory);
    if (!status.code)
        status = whole_file_write(path, s.text.text.data, s.text.text.length, READERS_GROUP);
    csv_buffer_release(&s.text.text);
    return status;
}
