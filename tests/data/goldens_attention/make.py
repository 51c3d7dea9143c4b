"""Goldens of attention. Run with python3 (PyTorch 1.13)."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import torch
from make import Goldens, fixed

g = Goldens(__file__)
bf16, f64 = torch.bfloat16, torch.float64
API = "Functional.multi_head_attention_forward"
NAMES = ("embed_dim_to_check num_heads in_proj_weight in_proj_bias bias_k bias_v add_zero_attn dropout_p "
         "out_proj_weight out_proj_bias").split()


def flags(*shape):
    return torch.rand(*shape) < 0.3


def attention(target=3, source=4, batch=2, width=6, heads=2, bias=True, added=False, zero=False, dtype=torch.float32,
              keyword=False, separate=False, **options):
    """One call; batch 0 is the form without a batch dimension."""
    def tensor(*shape):
        return g.normal(*shape, dtype=dtype)

    def sequence(length):
        return tensor(length, batch, width) if batch else tensor(length, width)

    q, k, v = sequence(target), sequence(source), sequence(source)
    values = [width, heads, None if separate else tensor(3 * width, width), tensor(3 * width) if bias else None,
              tensor(1, 1, width) if added else None, tensor(1, 1, width) if added else None, zero, 0.0,
              tensor(width, width), tensor(width) if bias else None]
    if separate:
        options |= dict(use_separate_proj_weight=True, q_proj_weight=tensor(width, width),
                        k_proj_weight=tensor(width, width), v_proj_weight=tensor(width, width))
    if keyword:
        g.add(API, q, k, v, **dict(zip(NAMES, values)), **options)
    else:
        g.add(API, q, k, v, *values, **options)


attention()
attention(keyword=True)
attention(batch=0)
attention(batch=0, need_weights=False)
attention(heads=3, need_weights=False)
attention(heads=1, average_attn_weights=False)
attention(average_attn_weights=False)
attention(batch=0, average_attn_weights=False)
attention(bias=False)
attention(added=True)
attention(zero=True)
attention(added=True, zero=True, batch=1)
attention(separate=True)
attention(separate=True, bias=False, keyword=True)
attention(training=False)
attention(dtype=f64)
attention(dtype=bf16, need_weights=False)
causal = torch.ones(3, 4, dtype=torch.bool).triu(2)
attention(attn_mask=causal)
attention(attn_mask=fixed(torch.zeros(3, 4).masked_fill(causal, float("-inf"))))
attention(attn_mask=fixed(g.normal(3, 4)))
attention(attn_mask=fixed(g.normal(4, 3, 4)))
attention(attn_mask=flags(4, 3, 4) & torch.tensor([True, True, True, False]))
attention(batch=0, attn_mask=causal)
attention(key_padding_mask=torch.tensor([[False, False, True, True], [False, True, False, False]]))
attention(key_padding_mask=torch.tensor([[False, False, True, True], [False, True, False, False]]), attn_mask=causal,
          need_weights=False)
attention(added=True, attn_mask=causal)
attention(zero=True, attn_mask=fixed(g.normal(3, 4)))
attention(zero=True, key_padding_mask=torch.tensor([[False, True, True, True], [True, True, True, True]]))
attention(added=True, zero=True, key_padding_mask=torch.tensor([[False, False, True, True], [False, True, False, False]]),
          attn_mask=fixed(g.normal(3, 4)))
g.save()
