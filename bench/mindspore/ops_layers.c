/* Products, linear algebra, layers, losses and random numbers of mindspore.ops, and what stands in the dump under "Functional": names, argument names and defaults of
 * MindSpore 2.3 to 2.6. docs/mindspore.md says which of them were compared with its reference pages. What
 * differs from the function of PyTorch that has the same name is said beside the row. */
#include "bench/mindspore/translation.h"

/* clang-format off */
const struct translation ops_layer_calls[] = {
    /* ---- products ---- */
    { "matmul|addbmm|addmm|addmv|baddbmm|bmm|mm|mv|inner|outer|ger|kron|vdot", OPS, NULL, "Torch" },
    { "bmm", OPS, "(Tensor input_x, Tensor mat2)", "Torch.$(input_x, mat2)" },
    { "addmv", OPS, "(Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)",
      "Torch.$(input, mat, vec, beta=beta, alpha=alpha)" },
    { "baddbmm", OPS,
      "(Tensor input, Tensor batch1, Tensor batch2, Scalar beta=1, Scalar alpha=1)",
      "Torch.$(input, batch1, batch2, beta=beta, alpha=alpha)" },
    { "outer|ger", OPS, "(Tensor input, Tensor vec2)", "Torch.outer(input, vec2)" },
    { "cross", OPS, "(Tensor input, Tensor other, int? dim=None)", "Torch.$(input, other, dim)" },
    { "dot", OPS, "(Tensor input, Tensor other)", "Torch.tensordot(input, other, [[-1], [-2]])" },
    { "tensor_dot", OPS, "(Tensor x1, Tensor x2, Any axes)", "Torch.tensordot(x1, x2, axes)" },
    { "einsum", OPS, "(str equation, *Tensor[] operands)", "Torch.$(equation, *operands)" },
    { "dense", OPS, "(Tensor input, Tensor weight, Tensor? bias=None)",
      "Functional.linear(input, weight, bias)" },

    /* ---- linear algebra ---- */
    { "cholesky", OPS, "(Tensor input_x, bool upper=False)", "Torch.$(input_x, upper)" },
    { "cholesky_solve", OPS, "(Tensor input, Tensor input2, bool upper=False)",
      "Torch.$(input, input2, upper)" },
    { "pinv", OPS, "(Tensor x, *, ...)", "Torch.$(x)" },
    { "matrix_solve", OPS, "(Tensor matrix, Tensor rhs, bool adjoint=False)",
      "Torch.linalg.solve(matrix, rhs)" },
    { "cond", OPS, "(Tensor A, Any p=None)", "Torch.linalg.cond(A, p)" },

    /* ---- layers ---- */
    { "embedding", OPS,
      "(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, "
      "bool scale_grad_by_freq=False)",
      "Functional.$(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)" },
    { "layer_norm", OPS,
      "(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-5)",
      "Functional.$(input, normalized_shape, weight, bias, eps)" },
    { "group_norm", OPS,
      "(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-5)",
      "Functional.$(input, num_groups, weight, bias, eps)" },
    { "batch_norm", OPS,
      "(Tensor input_x, Tensor running_mean, Tensor running_var, Tensor weight, Tensor bias, "
      "bool training=False, float momentum=0.1, float eps=1e-5)",
      "Functional.$(input_x, running_mean, running_var, weight, bias, training, momentum, eps)" },
    { "rms_norm", OPS, "(Tensor x, Tensor gamma, float epsilon=1e-6)",
      "NPU.npu_rms_norm(x, gamma, epsilon)" },
    { "rotary_position_embedding", OPS, "(Tensor x, Tensor cos, Tensor sin, int mode=0)",
      "MindSpore.$(x, cos, sin, mode)" },
    { "flash_attention_score", OPS,
      "(Tensor query, Tensor key, Tensor value, int head_num, Tensor? real_shift=None, "
      "Tensor? drop_mask=None, Tensor? padding_mask=None, Tensor? attn_mask=None, Any prefix=None, "
      "Any actual_seq_qlen=None, Any actual_seq_kvlen=None, float keep_prob=1.0, "
      "float scalar_value=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, "
      "int inner_precise=0, str input_layout='BSH', int sparse_mode=0)",
      "NPU.npu_fusion_attention(query, key, value, head_num, input_layout, pse=real_shift, "
      "padding_mask=padding_mask, atten_mask=attn_mask, scale=scalar_value, keep_prob=keep_prob, "
      "pre_tockens=pre_tokens, next_tockens=next_tokens, inner_precise=inner_precise, prefix=prefix, "
      "sparse_mode=sparse_mode)" },
    /* pad_mode "valid" takes no padding, "pad" the one that is given; "same" pads to ceil(n / stride). */
    { "conv1d|conv2d|conv3d", OPS,
      "(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, str pad_mode='valid', "
      "int[] padding=0, int[] dilation=1, int groups=1)",
      "MindSpore.$(input, weight, bias, stride, pad_mode, padding, dilation, groups)" },
    { "deformable_conv2d", OPS,
      "(Tensor x, Tensor weight, Tensor offsets, int[] kernel_size, int[] strides, int[] padding, "
      "Tensor? bias=None, int[] dilations=[1,1,1,1], int groups=1, int deformable_groups=1, "
      "bool modulated=True)",
      "MindSpore.$(x, weight, offsets, bias, kernel_size, strides, padding, dilations, groups, "
      "deformable_groups, modulated)" },
    { "dropout|dropout1d|dropout2d|dropout3d", OPS,
      "(Tensor input, float p=0.5, bool training=True, int? seed=None)",
      "Functional.$(input, p, training)" },
    /* kernel_size and stride are 1 when they are not given. */
    { "avg_pool1d", OPS,
      "(Tensor input_x, int[1] kernel_size=1, int[1] stride=1, int[1] padding=0, "
      "bool ceil_mode=False, bool count_include_pad=True)",
      "Functional.$(input_x, kernel_size, stride, padding, ceil_mode, count_include_pad)" },
    { "avg_pool2d|avg_pool3d", OPS,
      "(Tensor input_x, int[] kernel_size=1, int[] stride=1, int[] padding=0, "
      "bool ceil_mode=False, bool count_include_pad=True)",
      "Functional.$(input_x, kernel_size, stride, padding, ceil_mode, count_include_pad)" },
    { "avg_pool2d|avg_pool3d", OPS,
      "(Tensor input_x, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, "
      "bool count_include_pad, int divisor_override)",
      "Functional.$(input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, "
      "divisor_override)" },
    { "max_pool3d", OPS,
      "(Tensor x, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, "
      "bool ceil_mode=False, bool return_indices=False)",
      "Functional.$(x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)" },
    /* The last two change places. */
    { "max_pool2d", OPS,
      "(Tensor x, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, "
      "bool return_indices=False, bool ceil_mode=False)",
      "Functional.$(x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)" },
    { "adaptive_avg_pool1d|adaptive_avg_pool2d|adaptive_avg_pool3d", OPS,
      "(Tensor input, Any output_size)", "Functional.$(input, output_size)" },
    { "adaptive_max_pool1d|adaptive_max_pool2d|adaptive_max_pool3d", OPS,
      "(Tensor input, Any output_size, bool return_indices=False)",
      "Functional.$(input, output_size, return_indices)" },
    { "lp_pool1d|lp_pool2d", OPS,
      "(Tensor x, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False)",
      "Functional.$(x, norm_type, kernel_size, stride, ceil_mode)" },
    { "max_unpool1d|max_unpool2d|max_unpool3d", OPS,
      "(Tensor x, Tensor indices, int[] kernel_size, int[]? stride=None, int[] padding=0, "
      "int[]? output_size=None)",
      "Functional.$(x, indices, kernel_size, stride, padding, output_size)" },
    { "pixel_shuffle", OPS, "(Tensor input, int upscale_factor)", "Functional.$(input, upscale_factor)" },
    { "pixel_unshuffle", OPS, "(Tensor input, int downscale_factor)",
      "Functional.$(input, downscale_factor)" },
    { "channel_shuffle", OPS, "(Tensor x, int groups)", "Functional.$(x, groups)" },
    { "interpolate|upsample", OPS,
      "(Tensor input, Any size=None, Any scale_factor=None, str mode='nearest', "
      "bool? align_corners=None, bool? recompute_scale_factor=None)",
      "Functional.interpolate(input, size, scale_factor, mode, align_corners, "
      "recompute_scale_factor)" },
    { "grid_sample", OPS,
      "(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', "
      "bool align_corners=False)",
      "Functional.$(input, grid, mode, padding_mode, align_corners)" },
    { "affine_grid", OPS, "(Tensor theta, int[] size, bool align_corners=False)",
      "Functional.$(theta, size, align_corners)" },
    { "fold", OPS,
      "(Tensor input, Any output_size, int[] kernel_size, int[] dilation=1, int[] padding=0, "
      "int[] stride=1)",
      "Functional.$(input, output_size, kernel_size, dilation, padding, stride)" },
    { "unfold", OPS,
      "(Tensor input, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1)",
      "Functional.$(input, kernel_size, dilation, padding, stride)" },

    /* ---- losses ---- */
    { "binary_cross_entropy", OPS,
      "(Tensor logits, Tensor labels, Tensor? weight=None, str reduction='mean')",
      "Functional.$(logits, labels, weight, reduction=reduction)" },
    { "binary_cross_entropy_with_logits", OPS,
      "(Tensor logits, Tensor label, Tensor? weight=None, Tensor? pos_weight=None, "
      "str reduction='mean')",
      "Functional.$(logits, label, weight, reduction=reduction, pos_weight=pos_weight)" },
    { "cosine_embedding_loss", OPS,
      "(Tensor input1, Tensor input2, Tensor target, float margin=0.0, str reduction='mean')",
      "Functional.$(input1, input2, target, margin, reduction=reduction)" },
    { "cross_entropy", OPS,
      "(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100, "
      "str reduction='mean', float label_smoothing=0.0)",
      "Functional.$(input, target, weight, ignore_index=ignore_index, reduction=reduction, "
      "label_smoothing=label_smoothing)" },
    { "nll_loss", OPS,
      "(Tensor inputs, Tensor target, Tensor? weight=None, int ignore_index=-100, "
      "str reduction='mean', float label_smoothing=0.0)",
      "MindSpore.$(inputs, target, weight, ignore_index, reduction, label_smoothing)" },
    { "gaussian_nll_loss", OPS,
      "(Tensor x, Tensor target, Tensor var, bool full=False, float eps=1e-6, str reduction='mean')",
      "Functional.$(x, target, var, full, eps, reduction)" },
    { "hinge_embedding_loss", OPS,
      "(Tensor inputs, Tensor targets, float margin=1.0, str reduction='mean')",
      "Functional.$(inputs, targets, margin, reduction=reduction)" },
    { "huber_loss", OPS,
      "(Tensor input, Tensor target, str reduction='mean', float delta=1.0)",
      "Functional.$(input, target, reduction=reduction, delta=delta)" },
    { "kl_div", OPS, "(Tensor logits, Tensor labels, str reduction='mean')",
      "Functional.$(logits, labels, reduction=reduction)" },
    { "l1_loss|mse_loss|multilabel_margin_loss|soft_margin_loss", OPS,
      "(Tensor input, Tensor target, str reduction='mean')",
      "Functional.$(input, target, reduction=reduction)" },
    { "multilabel_soft_margin_loss", OPS,
      "(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean')",
      "Functional.$(input, target, weight, reduction=reduction)" },
    { "multi_margin_loss", OPS,
      "(Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None, "
      "str reduction='mean')",
      "Functional.$(input, target, p, margin, weight, reduction=reduction)" },
    { "margin_ranking_loss", OPS,
      "(Tensor input1, Tensor input2, Tensor target, float margin=0.0, str reduction='mean')",
      "Functional.$(input1, input2, target, margin, reduction=reduction)" },
    /* beta comes first, and nothing is reduced when nothing is said. */
    { "smooth_l1_loss", OPS,
      "(Tensor input, Tensor target, float beta=1.0, str reduction='none')",
      "Functional.$(input, target, reduction=reduction, beta=beta)" },
    { "triplet_margin_loss", OPS,
      "(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, "
      "bool swap=False, str reduction='mean')",
      "Functional.$(anchor, positive, negative, margin, p, eps, swap, reduction=reduction)" },
    { "cosine_similarity", OPS, "(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)",
      "Functional.$(x1, x2, dim, eps)" },
    { "cdist", OPS, "(Tensor x1, Tensor x2, float p=2.0)", "Torch.$(x1, x2, p)" },
    { "pdist", OPS, "(Tensor input, float p=2.0)", "Functional.$(input, p)" },
    { "dist", OPS, "(Tensor input, Tensor other, float p=2)", "Torch.$(input, other, p)" },
    { "ctc_greedy_decoder", OPS,
      "(Tensor inputs, Tensor sequence_length, bool merge_repeated=True)",
      "MindSpore.$(inputs, sequence_length, merge_repeated)" },
    { "ctc_loss", OPS,
      "(Tensor log_probs, Tensor targets, Any input_lengths, Any target_lengths, int blank=0, "
      "str reduction='mean', bool zero_infinity=False)",
      "Functional.$(log_probs, targets, input_lengths, target_lengths, blank, reduction, "
      "zero_infinity)" },

    /* ---- random ---- */
    { "bernoulli", OPS, "(Tensor input, Any p=0.5, int? seed=None)", "Torch.$(input, p)" },
    { "multinomial", OPS, "(Tensor input, int num_samples, bool replacement=True, int? seed=None)",
      "Torch.$(input, num_samples, replacement)" },
    { "rand|randn", OPS, "(*int[] size, ScalarType? dtype=None, int? seed=None)",
      "Torch.$(size, dtype=dtype)" },
    { "rand_like|randn_like", OPS, "(Tensor input, int? seed=None, *, ScalarType? dtype=None)",
      "Torch.$(input, dtype=dtype)" },
    { "randint", OPS,
      "(int low, int high, int[] size, int? seed=None, *, ScalarType? dtype=None)",
      "Torch.$(low, high, size, dtype=dtype)" },
    { "randint_like", OPS,
      "(Tensor input, int low, int high, int? seed=None, *, ScalarType? dtype=None)",
      "Torch.$(input, low, high, dtype=dtype)" },
    { "gamma", OPS, "(int[] shape, Tensor alpha, Tensor beta, int? seed=None)",
      "MindSpore.$(shape, alpha, beta)" },
    { "random_gamma", OPS, "(Any shape, Tensor alpha, int? seed=None)",
      "MindSpore.$(shape, alpha)" },
    { "random_poisson", OPS,
      "(Any shape, Tensor rate, int? seed=None, ScalarType? dtype=None)",
      "MindSpore.$(shape, rate, dtype)" },
    { "random_categorical", OPS,
      "(Tensor logits, int num_sample, int seed=0, ScalarType? dtype=None)",
      "MindSpore.$(logits, num_sample, dtype)" },
    { "multinomial_with_replacement", OPS,
      "(Tensor x, int seed, int offset, int numsamples, bool replacement=False)",
      "Torch.multinomial(x, numsamples, True)" },
    { "uniform_candidate_sampler", OPS,
      "(Tensor true_classes, int num_true, int num_sampled, bool unique, int range_max, int seed=0, "
      "bool remove_accidental_hits=False)",
      "MindSpore.$(true_classes, num_true, num_sampled, unique, range_max, "
      "remove_accidental_hits)" },
    { "log_uniform_candidate_sampler", OPS,
      "(Tensor true_classes, int num_true=1, int num_sampled=5, bool unique=True, int range_max=5, "
      "int seed=0)",
      "MindSpore.$(true_classes, num_true, num_sampled, unique, range_max)" },
    { "iou", OPS, "(Tensor anchor_boxes, Tensor gt_boxes, str mode='iou')",
      "MindSpore.$(anchor_boxes, gt_boxes, mode)" },
    { "check_valid", OPS, "(Tensor bboxes, Tensor img_metas)", "MindSpore.$(bboxes, img_metas)" },
    { "shuffle", OPS, "(Tensor x, int? seed=None)", "MindSpore.$(x)" },
    { "randperm", OPS, "(int n, int seed=0, int offset=0, ScalarType? dtype=None)", "Torch.$(n)" },
    { "rrelu", OPS, "(Tensor input, float lower=0.125, float upper=0.333333333333333333)",
      "Functional.$(input, lower, upper)" },
    { "gumbel_softmax", OPS, "(Tensor logits, float tau=1.0, bool hard=False, int dim=-1)",
      "Functional.$(logits, tau, hard, dim=dim)" },
    /* ---- what PyTorch has under other names ---- */
    { "bessel_i0e", OPS, "(Tensor x)", "Torch.special.i0e(x)" },
    { "bessel_i1", OPS, "(Tensor x)", "Torch.special.i1(x)" },
    { "bessel_i1e", OPS, "(Tensor x)", "Torch.special.i1e(x)" },
    { "bessel_j0", OPS, "(Tensor x)", "Torch.special.bessel_j0(x)" },
    { "bessel_j1", OPS, "(Tensor x)", "Torch.special.bessel_j1(x)" },
    { "bessel_y0", OPS, "(Tensor x)", "Torch.special.bessel_y0(x)" },
    { "bessel_y1", OPS, "(Tensor x)", "Torch.special.bessel_y1(x)" },
    { "bessel_k0", OPS, "(Tensor x)", "Torch.special.modified_bessel_k0(x)" },
    { "bessel_k0e", OPS, "(Tensor x)", "Torch.special.scaled_modified_bessel_k0(x)" },
    { "bessel_k1", OPS, "(Tensor x)", "Torch.special.modified_bessel_k1(x)" },
    { "bessel_k1e", OPS, "(Tensor x)", "Torch.special.scaled_modified_bessel_k1(x)" },
    { "zeta", OPS, "(Tensor input, Tensor other)", "Torch.special.zeta(input, other)" },
    /* the values first; v, not its adjoint */
    { "svd", OPS, "(Tensor input, bool full_matrices=False, bool compute_uv=True)",
      "MindSpore.$(input, full_matrices, compute_uv)" },
    { "eig", OPS, "(Tensor A)", "Torch.linalg.eig(A)" },
    { "geqrf", OPS, "(Tensor input)", "Torch.$(input)" },
    { "qr", OPS, "(Tensor input, str mode='reduced')", "Torch.linalg.qr(input, mode)" },
    { "orgqr", OPS, "(Tensor input, Tensor input2)", "Torch.$(input, input2)" },
    { "ormqr", OPS, "(Tensor input, Tensor tau, Tensor other, bool left=True, bool transpose=False)",
      "Torch.$(input, tau, other, left, transpose)" },
    { "lu_solve", OPS, "(Tensor b, Tensor LU_data, Tensor LU_pivots)",
      "Torch.$(b, LU_data, LU_pivots)" },
    { "lu_unpack", OPS,
      "(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True)",
      "Torch.$(LU_data, LU_pivots, unpack_data, unpack_pivots)" },
    { "fractional_max_pool3d", OPS,
      "(Tensor input, int[] kernel_size, int[]? output_size=None, Any output_ratio=None, "
      "bool return_indices=False, Tensor? _random_samples=None)",
      "Functional.$(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)" },
    { "normal", OPS, "(int[] shape, Tensor mean, Tensor stddev, int? seed=None)",
      "Torch.normal(mean, stddev, shape)" },
    { "uniform", OPS,
      "(int[] shape, float minval, float maxval, int? seed=None, ScalarType? dtype=None)",
      "MindSpore.$(shape, minval, maxval, dtype)" },
    { "laplace", OPS, "(int[] shape, float mean, float lambda_param, int? seed=None)",
      "MindSpore.$(shape, mean, lambda_param)" },
    { "standard_laplace", OPS, "(int[] shape, int? seed=None)", "MindSpore.laplace(shape, 0.0, 1.0)" },
    { "standard_normal", OPS, "(int[] shape, int? seed=None)", "Torch.randn(shape)" },
    { "choice_with_mask", OPS, "(Tensor input_x, int count=256, int? seed=None)",
      "NPU.npu_random_choice_with_mask(input_x, count)" },
    { "scalar_to_tensor", OPS, "(Scalar input_x, ScalarType? dtype=None)",
      "Torch.scalar_tensor(input_x, dtype=dtype)" },
    { "tuple_to_array", OPS, "(Any input_x)", "Torch.tensor(input_x)" },
    { "bounding_box_encode", OPS,
      "(Tensor anchor_box, Tensor groundtruth_box, float[] means=[0,0,0,0], float[] stds=[1,1,1,1])",
      "NPU.npu_bounding_box_encode(anchor_box, groundtruth_box, *means, *stds)" },
    { "bounding_box_decode", OPS,
      "(Tensor anchor_box, Tensor deltas, int[] max_shape, float[] means=[0,0,0,0], "
      "float[] stds=[1,1,1,1], float wh_ratio_clip=0.016)",
      "NPU.npu_bounding_box_decode(anchor_box, deltas, *means, *stds, max_shape, wh_ratio_clip)" },
    { .names = 0 },
};
/* clang-format on */
