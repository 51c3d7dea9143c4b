/* Methods of mindspore.Tensor. Since 2.5 most of them are overloaded: with the signature of PyTorch, and
 * with the one they had before. Positional arguments mean the same in both where both take them, but for
 * max and min of one axis: 2.5 and later give the indices too, as here; before, only the values. */
#include "bench/mindspore/translation.h"

/* clang-format off */
const struct translation method_calls[] = {
    /* Those of mindspore.ops, not of PyTorch: the order 2 of a matrix is its largest singular value. */
    { "norm", METHOD,
      "(Tensor self, Any ord=None, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)",
      "Torch.linalg.norm(self, ord, dim, keepdim, dtype=dtype)" },

    /* Conversions. */
    { "astype|to", METHOD, "(Tensor self, ScalarType dtype, bool copy=True)",
      "Tensor.to(self, dtype)" },
    { "bool|byte|float|half|int|long|short|double|bfloat16|char", METHOD, NULL, "Tensor" },
    { "type_as|to", METHOD, NULL, "Tensor" },
    { "type", METHOD, "(Tensor self, ScalarType? dtype=None)", "Tensor.type(self, dtype)" },
    { "copy", METHOD, "(Tensor self)", "Tensor.clone(self)" },
    { "item|tolist|numpy|numel|size|is_contiguous|is_complex|is_signed|nelement|clone|contiguous",
      METHOD, NULL, "Tensor" },

    /* As in PyTorch, also by the names of their arguments. */
    { "abs|absolute|acos|acosh|angle|arccos|arccosh|arcsin|arcsinh|arctan|arctanh|asin|asinh|atan|"
      "atanh|ceil|conj|cos|cosh|deg2rad|digamma|erf|erfc|erfinv|exp|expm1|frac|i0|imag|isfinite|"
      "isinf|isnan|isneginf|isposinf|isreal|log|log10|log1p|log2|logdet|logical_not|logit|neg|"
      "negative|rad2deg|ravel|real|reciprocal|round|rsqrt|sgn|sigmoid|sign|signbit|sin|sinc|sinh|"
      "sqrt|square|t|tan|tanh|trunc|floor|inverse|hardshrink|mvlgamma|nan_to_num|nonzero|fliplr|"
      "flipud|msort|slogdet|diagflat|trace", METHOD, NULL, "Tensor" },
    { "add|add_|sub|sub_|mul|div|div_|divide|multiply|true_divide|pow|remainder|fmod|maximum|minimum|"
      "fmax|fmin|"
      "atan2|arctan2|bitwise_and|bitwise_or|bitwise_xor|copysign|eq|ge|gt|le|lt|ne|greater|"
      "greater_equal|less|less_equal|not_equal|float_power|heaviside|hypot|igamma|igammac|inner|lcm|"
      "gcd|ldexp|logaddexp|logaddexp2|logical_and|logical_or|logical_xor|nextafter|xlogy|lerp|"
      "isclose|allclose|matmul|mm|bmm|mv|outer|addbmm|addmm|addmm_|addmv|addr|baddbmm|addcdiv|addcmul|"
      "subtract|floor_divide|cross|dot", METHOD, NULL, "Tensor" },
    { "clamp|clip|clamp_|fill_|zero_|floor_|masked_fill|masked_scatter|masked_select|where|"
      "expand_as|view|view_as|reshape|flatten|permute|swapaxes|swapdims|movedim|moveaxis|narrow|"
      "select|squeeze|unsqueeze|transpose|tril|triu|diag|diagonal|repeat|tile|repeat_interleave|split|"
      "chunk|unbind|tensor_split|flip|rot90|roll|topk|sort|argsort|gather|index_add|index_fill|"
      "index_select|index_put|scatter|scatter_add|broadcast_to|bincount|histc|unique_consecutive|"
      "renorm|cholesky|cholesky_solve|multinomial|bernoulli|take|new_ones|new_zeros|"
      "sum_to_size|resize", METHOD, NULL, "Tensor" },
    { "all|any|argmax|argmin|amax|amin|cummax|cummin|cumprod|cumsum|logsumexp|max|mean|median|min|"
      "nansum|prod|sum|diff", METHOD, NULL, "Tensor" },
    { "__abs__|__add__|__and__|__eq__|__ge__|__gt__|__iadd__|__ifloordiv__|__imod__|__imul__|"
      "__isub__|__le__|__lt__|__matmul__|__mod__|__mul__|__ne__|__neg__|__or__|__pow__|__radd__|"
      "__rmatmul__|__rmod__|__rmul__|__rpow__|__rsub__|__sub__|__truediv__|__xor__|__getitem__|"
      "__floordiv__|__rfloordiv__|__rtruediv__|__invert__", METHOD, NULL, "Tensor" },
    { "__imatmul__", METHOD, NULL, "Tensor.matmul" },
    { "__bool__", METHOD, NULL, "Tensor" },

    /* The older signatures. */
    { "all|any|mean|logsumexp", METHOD,
      "(Tensor self, int[]? axis=None, bool keep_dims=False, *, ScalarType? dtype=None)",
      "Tensor.$(self, dim=axis, keepdim=keep_dims)" },
    { "prod", METHOD,
      "(Tensor self, int axis, bool keep_dims=False, ScalarType? dtype=None)",
      "Tensor.$(self, axis, keep_dims, dtype=dtype)" },
    { "prod", METHOD,
      "(Tensor self, int? axis=None, bool keep_dims=False, ScalarType? dtype=None)",
      "Tensor.$(self, dtype=dtype)" },
    { "sum", METHOD,
      "(Tensor self, int[]? axis=None, ScalarType? dtype=None, bool keepdims=False)",
      "Tensor.$(self, dim=axis, keepdim=keepdims, dtype=dtype)" },
    { "max|min", METHOD, "(Tensor self, int axis, bool keepdims=False, *, ..., "
      "bool return_indices=False)", "Tensor.a$(self, axis, keepdims)" },
    { "max|min", METHOD, "(Tensor self, *, ...)", "Tensor.$(self)" },
    { "argmax|argmin", METHOD, "(Tensor self, int? axis=None, bool keepdims=False)",
      "Tensor.$(self, axis, keepdims)" },
    { "std|var", METHOD, "(Tensor self, int[]? axis=None, int ddof=0, bool keepdims=False)",
      "Tensor.$(self, dim=axis, correction=ddof, keepdim=keepdims)" },
    { "std|var", METHOD, NULL, "Tensor" },
    { "cumsum|cumprod", METHOD, "(Tensor self, int axis, ScalarType? dtype=None)",
      "Tensor.$(self, axis, dtype=dtype)" },
    { "transpose|permute", METHOD, "(Tensor self, *int[] axes)", "Tensor.permute(self, axes)" },
    { "swapaxes", METHOD, "(Tensor self, int axis1, int axis2)", "Tensor.$(self, axis1, axis2)" },
    { "expand_as", METHOD, "(Tensor self, Tensor x)", "Tensor.$(self, x)" },
    { "gather_elements", METHOD, "(Tensor self, int dim, Tensor index)",
      "Tensor.gather(self, dim, index)" },
    { "gather", METHOD, "(Tensor self, Tensor input_indices, int axis, int batch_dims=0)",
      "MindSpore.$(self, input_indices, axis, batch_dims)" },
    { "index_add", METHOD,
      "(Tensor self, Tensor indices, Tensor y, int axis, bool use_lock=True, "
      "bool check_index_bound=True)",
      "Tensor.$(self, axis, indices, y)" },
    { "scatter_add|scatter_sub|scatter_mul|scatter_div|scatter_max|scatter_min", METHOD,
      "(Tensor self, Tensor indices, Tensor updates)", "MindSpore.tensor_$(self, indices, updates)" },
    { "diagonal", METHOD, "(Tensor self, int offset=0, int axis1=0, int axis2=1)",
      "Tensor.$(self, offset, axis1, axis2)" },
    { "unique_consecutive", METHOD,
      "(Tensor self, bool return_idx=False, bool return_counts=False, int? axis=None)",
      "Tensor.$(self, return_idx, return_counts, axis)" },
    { "topk", METHOD, "(Tensor self, int k, int? dim, bool largest=True, bool sorted=True)",
      "Tensor.$(self, k, -1, largest, sorted)" },
    { "new_ones|new_zeros", METHOD, "(Tensor self, int[] size, ScalarType? dtype=None)",
      "Tensor.$(self, size, dtype=dtype)" },
    { "sort|argsort", METHOD, "(Tensor self, int axis=-1, bool descending=False)",
      "Tensor.$(self, axis, descending)" },
    { "split", METHOD, "(Tensor self, int[] split_size_or_sections, int axis=0)",
      "Tensor.$(self, split_size_or_sections, axis)" },
    { "tensor_split", METHOD, "(Tensor self, int[] indices_or_sections, int axis=0)",
      "Tensor.$(self, indices_or_sections, axis)" },
    { "unbind", METHOD, "(Tensor self, int axis=0)", "Tensor.$(self, axis)" },
    { "repeat_interleave", METHOD, "(Tensor self, Any repeats, int? axis=None)",
      "Tensor.$(self, repeats, axis)" },
    { "repeat", METHOD, "(Tensor self, Any repeats, int? axis=None)",
      "Tensor.repeat_interleave(self, repeats, axis)" },
    { "flatten", METHOD, "(Tensor self, str order='C', *, int start_dim=0, int end_dim=-1)",
      "Tensor.$(self, start_dim, end_dim)" },
    { "copy_", METHOD, "(Tensor self, Tensor src, bool non_blocking=False)",
      "MindSpore.assign(self, src)" },
    { "ger", METHOD, "(Tensor self, Tensor vec2)", "Torch.outer(self, vec2)" },
    { "equal", METHOD, "(Tensor self, Tensor other)", "Tensor.eq(self, other)" },
    { "subtract", METHOD, "(Tensor self, Tensor other, *, Scalar alpha=1)",
      "Tensor.sub(self, other, alpha=alpha)" },
    { "from_numpy", METHOD, "(Tensor array)", "Tensor.clone(array)" },
    { "svd", METHOD, "(Tensor self, bool full_matrices=False, bool compute_uv=True)",
      "MindSpore.$(self, full_matrices, compute_uv)" },
    { "geqrf", METHOD, "(Tensor self)", "Torch.$(self)" },
    { "qr", METHOD, "(Tensor self, bool some=True)", "Tensor.$(self, some)" },
    { "ormqr", METHOD, "(Tensor self, Tensor tau, Tensor other, bool left=True, bool transpose=False)",
      "Torch.$(self, tau, other, left, transpose)" },
    { .names = 0 },
};
/* clang-format on */
