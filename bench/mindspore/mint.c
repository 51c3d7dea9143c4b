/* mindspore.mint and mindspore.mint.nn.functional: made to have the signatures of PyTorch. The rows say
 * where MindSpore 2.3 to 2.6 has not (docs/mindspore.md says what was compared with its reference pages);
 * all other names pass as they are. */
#include "bench/mindspore/translation.h"

#define ANY_MINT (MINT | MINT_FUNCTIONAL)

/* clang-format off */
const struct translation mint_calls[] = {
    /* No size_average and reduce before reduction. */
    { "l1_loss|mse_loss", ANY_MINT, "(Tensor input, Tensor target, str reduction='mean')",
      "Functional.$(input, target, reduction=reduction)" },
    { "smooth_l1_loss", ANY_MINT,
      "(Tensor input, Tensor target, str reduction='mean', float beta=1.0)",
      "Functional.$(input, target, reduction=reduction, beta=beta)" },
    { "kl_div", ANY_MINT,
      "(Tensor input, Tensor target, str reduction='mean', bool log_target=False)",
      "Functional.$(input, target, reduction=reduction, log_target=log_target)" },
    { "binary_cross_entropy", ANY_MINT,
      "(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean')",
      "Functional.$(input, target, weight, reduction=reduction)" },
    { "binary_cross_entropy_with_logits|bce_with_logits", ANY_MINT,
      "(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean', "
      "Tensor? pos_weight=None)",
      "Functional.binary_cross_entropy_with_logits(input, target, weight, reduction=reduction, "
      "pos_weight=pos_weight)" },
    { "cross_entropy", ANY_MINT,
      "(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100, "
      "str reduction='mean', float label_smoothing=0.0)",
      "Functional.$(input, target, weight, ignore_index=ignore_index, reduction=reduction, "
      "label_smoothing=label_smoothing)" },
    { "nll_loss", ANY_MINT,
      "(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100, "
      "str reduction='mean')",
      "Functional.$(input, target, weight, ignore_index=ignore_index, reduction=reduction)" },
    /* No _stacklevel before dtype. */
    { "softmax|log_softmax", ANY_MINT, "(Tensor input, int? dim=None, ScalarType? dtype=None)",
      "Functional.$(input, dim, dtype=dtype)" },
    { "softmax_ex", ANY_MINT, "(Tensor input, int dim, ScalarType? dtype=None)",
      "Functional.softmax(input, dim, dtype=dtype)" },
    /* return_indices stands behind ceil_mode, by keyword; the indices of _ex always come. */
    { "max_pool2d", ANY_MINT,
      "(Tensor input, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, "
      "int[2] dilation=1, bool ceil_mode=False, bool return_indices=False)",
      "Functional.$(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)" },
    /* The dtype may stand without its name. */
    { "cumsum|cumprod", MINT, "(Tensor input, int dim, ScalarType? dtype=None)",
      "Torch.$(input, dim, dtype=dtype)" },
    { "eye", MINT, "(int n, int m, ScalarType? dtype=None)", "Torch.$(n, m, dtype=dtype)" },
    { "eye", MINT, "(int n, int? m=None, ScalarType? dtype=None)", "Torch.$(n, dtype=dtype)" },
    { "dense", ANY_MINT, "(Tensor input, Tensor weight, Tensor? bias=None)",
      "Functional.linear(input, weight, bias)" },
    { "item", ANY_MINT, "(Tensor input)", "Tensor.item(input)" },
    { "fix", ANY_MINT, "(Tensor input)", "Torch.trunc(input)" },

    /* Names of torch.nn.functional that torch itself has with other arguments. */
    { "embedding|batch_norm|layer_norm|group_norm|conv2d|conv_transpose2d|linear|avg_pool2d|pad|"
      "interpolate|one_hot|gelu|leaky_relu|silu|softplus|grid_sample|fold|unfold|dropout",
      MINT, NULL, "Functional" },

    /* The names of overloads as they stand in the lists of the dumper. */
    { "add_ex", MINT, NULL, "Torch.add" },             { "any_ex", MINT, NULL, "Torch.any" },
    { "baddbmm_ex", MINT, NULL, "Torch.baddbmm" },     { "cat_ex", MINT, NULL, "Torch.cat" },
    { "flip_ex", MINT, NULL, "Torch.flip" },           { "mean_ex", MINT, NULL, "Torch.mean" },
    { "ones_ex", MINT, NULL, "Torch.ones" },           { "permute_ex", MINT, NULL, "Torch.permute" },
    { "sqrt_ex", MINT, NULL, "Torch.sqrt" },           { "sub_ex", MINT, NULL, "Torch.sub" },
    { "zeros_ex", MINT, NULL, "Torch.zeros" },
    { "batch_norm_ex", MINT_FUNCTIONAL, NULL, "Functional.batch_norm" },
    { "max_pool2d_ex", MINT_FUNCTIONAL, NULL, "Functional.max_pool2d" },
    { "one_hot_ext", MINT_FUNCTIONAL, NULL, "Functional.one_hot" },

    { "*", MINT, NULL, "Torch" },
    { "*", MINT, NULL, "Functional" },
    { "*", MINT_FUNCTIONAL, NULL, "Functional" },
    { "*", MINT_FUNCTIONAL, NULL, "Torch" },
    { .names = 0 },
};
/* clang-format on */
