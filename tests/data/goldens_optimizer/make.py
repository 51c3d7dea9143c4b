"""Goldens of fused optimizers by PyTorch's own steps of single tensors (torch.optim). Run with python3
(PyTorch 1.13)."""
import inspect
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import make
import torch
from torch.optim import adam, adamw, sgd


def scaled(grads, scale):
    return [x / scale if scale is not None else x for x in grads]


def skipped(found_inf):
    return found_inf is not None and found_inf.item() == 1


def call(step, **arguments):
    known = inspect.signature(step).parameters
    step(**{k: v for k, v in arguments.items() if k in known})


def adam_with(step):
    def fused(params, grads, m, v, largest, steps, *, grad_scale=None, found_inf=None, **options):
        grads = scaled(grads, None if skipped(found_inf) else grad_scale)  # a skipped step touches nothing
        out = [[t.clone() for t in items] for items in (params, grads, m, v, largest)]
        if not skipped(found_inf):
            own = [t.clone() for t in out[1]]
            call(step, params=out[0], grads=own, exp_avgs=out[2], exp_avg_sqs=out[3], max_exp_avg_sqs=out[4],
                 state_steps=[s - 1 for s in steps], grad_scale=None, found_inf=None, capturable=False,
                 differentiable=False, **options)
        return out
    return fused


def fused_sgd(params, grads, buffers, *, is_first_step, grad_scale=None, found_inf=None, **options):
    grads = scaled(grads, grad_scale)
    out = [[t.clone() for t in items] for items in (params, grads, buffers)]
    own = [None] * len(params) if is_first_step else [t.clone() for t in buffers]
    call(sgd._single_tensor_sgd, params=out[0], d_p_list=[t.clone() for t in out[1]], grads=[t.clone() for t in out[1]],
         momentum_buffer_list=own, has_sparse_grad=False, **options)
    return [out[0], out[1], [b if b is not None else o for b, o in zip(own, out[2])]]


STEPS = {
    "Torch._fused_adam": adam_with(adam._single_tensor_adam),
    "Torch._fused_adamw": adam_with(adamw._single_tensor_adamw),
    "Torch._fused_sgd": fused_sgd,
}


class Goldens(make.Goldens):
    resolve = staticmethod(lambda api: STEPS.get(api) or make.resolve(api))


g = Goldens(__file__)


def lists(positive=False):
    a = [g.normal(3, 4), g.normal(5)]
    return [t * t for t in a] if positive else a


for name in ("_fused_adam", "_fused_adamw"):
    for decay, amsgrad, maximize, scale in ((0.0, False, False, None), (0.1, True, False, None), (0.1, False, True, 4.0)):
        most = lists(True) if amsgrad else []
        extra = {} if scale is None else {"grad_scale": torch.tensor(scale), "found_inf": torch.tensor(0.0)}
        g.add(f"Torch.{name}", lists(), lists(), lists(), lists(True), most, [torch.tensor(7.0), torch.tensor(1.0)],
              grad=False, lr=0.01, beta1=0.9, beta2=0.99, weight_decay=decay, eps=1e-8, amsgrad=amsgrad,
              maximize=maximize, **extra)
    g.add(f"Torch.{name}", lists(), lists(), lists(), lists(True), [], [torch.tensor(7.0), torch.tensor(7.0)], grad=False,
          lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
          grad_scale=torch.tensor(2.0), found_inf=torch.tensor(1.0))
for momentum, nesterov, first, dampening, maximize in ((0.0, False, False, 0.0, False), (0.9, False, False, 0.1, True),
                                                       (0.9, True, False, 0.0, False), (0.9, False, True, 0.5, False)):
    g.add("Torch._fused_sgd", lists(), lists(), lists() if momentum else [], grad=False, weight_decay=0.1,
          momentum=momentum, lr=0.01, dampening=dampening, nesterov=nesterov, maximize=maximize, is_first_step=first)

g.save()
