"""Training steps that tests/long/training_steps records: small models of the kinds that are trained, forward, backward and update.

Each step is a function of a dtype. What PyTorch 1.13 has no kernel for on a CPU is written as libraries write it (RMSNorm, rotary
positions, routing of experts).
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


def pull_back(y):
    (y * torch.randn(y.shape).to(y.dtype)).sum().backward()


# ---- convolutions, a small decoder, losses, activations, tensors ------------------------------------------------


def convolutional(dtype):
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=2, stride=2),
        nn.GroupNorm(2, 8), nn.SiLU(), nn.AvgPool2d(2, 1), nn.ConvTranspose2d(8, 6, 2, 2), nn.InstanceNorm2d(6, affine=True),
        nn.ReflectionPad2d(1), nn.ReplicationPad2d(1), nn.Upsample(scale_factor=1.5, mode="bilinear"),
        nn.Upsample(size=(9, 9), mode="nearest"), nn.Upsample(size=(7, 8), mode="bicubic"), nn.AdaptiveAvgPool2d((3, 3)),
        nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(24, 5)).to(dtype)
    F.cross_entropy(model(torch.randn(4, 3, 20, 20).to(dtype)), torch.tensor([0, 1, 2, 4])).backward()


def decoder(dtype):
    embedding, first, second = nn.Embedding(50, 32), nn.LayerNorm(32), nn.LayerNorm(32)
    joint, out, up, down, head = (nn.Linear(*s) for s in ((32, 96), (32, 32), (32, 128), (128, 32), (32, 50)))
    for module in (embedding, first, second, joint, out, up, down, head):
        module.to(dtype)
    tokens = torch.randint(0, 50, (2, 12))
    x = embedding(tokens)
    q, k, v = (z.view(2, 12, 4, 8).transpose(1, 2) for z in joint(first(x)).split(32, -1))
    future = torch.triu(torch.ones(12, 12, dtype=torch.bool), 1)
    weights = F.softmax((q @ k.transpose(-2, -1) / 8**0.5).masked_fill(future, float("-inf")), -1)
    x = x + out((weights @ v).transpose(1, 2).reshape(2, 12, 32))
    x = x + down(F.gelu(up(second(x))))
    F.cross_entropy(head(x).view(-1, 50).float(), tokens.view(-1)).backward()


def losses(dtype):
    def leaf(*shape):
        return torch.randn(*shape).to(dtype).requires_grad_()

    target, sign = torch.tensor([0, 3, 1, 2, 2]), torch.sign(torch.randn(5, 4)).to(dtype)
    share = torch.rand(5, 4).to(dtype)
    for reduction in ("mean", "sum", "none"):
        a, b, how = leaf(5, 4), torch.randn(5, 4).to(dtype), {"reduction": reduction}
        for loss in (F.mse_loss(a, b, **how), F.l1_loss(a, b, **how), F.smooth_l1_loss(a, b, beta=0.5, **how),
                     F.huber_loss(a, b, **how), F.cross_entropy(a, target, label_smoothing=0.1, **how),
                     F.nll_loss(F.log_softmax(a, 1), target, weight=share[0, :4], **how),
                     F.binary_cross_entropy(torch.sigmoid(a), share, **how),
                     F.binary_cross_entropy_with_logits(a, share, **how), F.soft_margin_loss(a, sign, **how),
                     F.multi_margin_loss(a, target, **how), F.hinge_embedding_loss(a, sign, **how),
                     F.cross_entropy(leaf(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4)), ignore_index=1, **how)):
            pull_back(loss)


def activations(dtype):
    for module in (nn.ReLU(), nn.ReLU6(), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.ELU(), nn.CELU(), nn.SELU(),
                   nn.Hardswish(), nn.Hardtanh(), nn.LeakyReLU(), nn.Softplus(), nn.LogSigmoid(), nn.Tanh(), nn.Sigmoid(),
                   nn.Softsign(), nn.GLU(), nn.Softmax(-1), nn.LogSoftmax(-1)):
        pull_back(module(torch.randn(3, 8, 16).to(dtype).requires_grad_()))


def tensors(dtype):
    x = torch.randn(4, 5, 6).to(dtype).requires_grad_()
    y = torch.rand(4, 5, 6).to(dtype).requires_grad_()
    for z in (x[1:3, ::2], x.select(1, 2), x.diagonal(0, 1, 2), x.unfold(2, 3, 2), x[:, torch.tensor([0, 2, 2])],
              x.gather(2, torch.randint(0, 6, (4, 5, 3))), torch.where(x > 0, x, y), x.clamp(-0.5, 0.5), x.std(1),
              x.logsumexp(1), x.cumsum(1), x.max(1)[0], x.sort(1)[0], x.topk(3)[0], x.tril(), torch.cat([x, y], 1),
              torch.einsum("abc,dbc->ad", x, y), x.exp() + y.log() + x.sin() * y.sqrt(), y.pow(x) + x.atan2(y),
              x.scatter_add(1, torch.zeros(4, 3, 6, dtype=torch.long), y[:, :3]), F.pad(x, (1, 2)), F.unfold(x[None], 2),
              F.normalize(x), torch.lerp(x, y, 0.3), torch.addcdiv(x, y, y + 1)):
        pull_back(z)


# ---- a language model with experts ---------------------------------------------------------------------------------


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.1 * torch.randn(width))

    def forward(self, x):
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * self.weight


def rotated(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


class Experts(nn.Module):
    """The two best of four, their shares of a softmax; tokens sorted by expert, as grouped products want them."""

    def __init__(self, width, hidden):
        super().__init__()
        self.router = nn.Linear(width, 4, bias=False)
        self.up, self.gate = (nn.Parameter(torch.randn(4, width, hidden) / width**0.5) for _ in range(2))
        self.down = nn.Parameter(torch.randn(4, hidden, width) / hidden**0.5)

    def forward(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        shares = F.softmax(self.router(tokens).float(), dim=-1)
        best, chosen = torch.topk(shares, 2, dim=-1)
        best = (best / best.sum(-1, keepdim=True)).to(x.dtype)
        order = torch.argsort(chosen.flatten(), stable=True)
        counts = torch.bincount(chosen.flatten(), minlength=4)
        sorted_tokens = tokens.index_select(0, order.div(2, rounding_mode="floor"))
        parts = [F.silu(part @ self.gate[e]) * (part @ self.up[e]) @ self.down[e]
                 for e, part in enumerate(sorted_tokens.split(counts.tolist())) if part.shape[0]]
        weighted = torch.cat(parts) * best.flatten()[order].unsqueeze(-1)
        y = torch.zeros_like(tokens).index_add(0, order // 2, weighted)
        balance = (F.one_hot(chosen, 4).float().mean((0, 1)) * shares.mean(0)).sum() * 4
        return y.view_as(x), balance


def language_model(dtype):
    """Grouped queries, rotary positions, SwiGLU, experts, a clipped step of AdamW; loss in float32 over shifted labels."""
    width, heads, key_heads, length = 32, 4, 2, 10
    embedding, norms, experts = nn.Embedding(60, width, padding_idx=0), [RMSNorm(width) for _ in range(3)], Experts(width, 24)
    q, kv, o, up, down = (nn.Linear(*s, bias=False) for s in ((32, 32), (32, 32), (32, 32), (32, 96), (48, 32)))
    modules = nn.ModuleList([embedding, *norms, experts, q, kv, o, up, down]).to(dtype)
    optimizer = torch.optim.AdamW(modules.parameters(), lr=1e-3, foreach=False)
    tokens = torch.randint(1, 60, (2, length))
    frequencies = 1.0 / 10000 ** (torch.arange(0, 8, 2).float() / 8)
    angles = torch.outer(torch.arange(length).float(), frequencies)
    cos, sin = (torch.cat((f(angles), f(angles)), -1).to(dtype) for f in (torch.cos, torch.sin))
    mask = torch.full((length, length), torch.finfo(dtype).min, dtype=dtype).triu(1)
    for _ in range(2):
        x = embedding(tokens)
        h = norms[0](x)
        query = rotated(q(h).view(2, length, heads, 8).transpose(1, 2), cos, sin)
        key, value = kv(h).view(2, length, 2, key_heads, 8).permute(2, 0, 3, 1, 4).unbind(0)
        key, value = rotated(key, cos, sin).repeat_interleave(2, dim=1), value.repeat_interleave(2, dim=1)
        scores = torch.matmul(query, key.transpose(2, 3)) * 8**-0.5 + mask
        weights = F.dropout(F.softmax(scores, dim=-1, dtype=torch.float32).to(dtype), p=0.1, training=True)
        x = x + o(torch.matmul(weights, value).transpose(1, 2).contiguous().view(2, length, width))
        gate, linear = up(norms[1](x)).chunk(2, dim=-1)
        x = x + down(F.silu(gate) * linear)
        y, balance = experts(norms[2](x))
        logits = F.linear(x + y, embedding.weight).float()
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, 60), tokens[:, 1:].reshape(-1), ignore_index=3) + 0.01 * balance
        loss = loss + 1e-4 * torch.logsumexp(logits, -1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(modules.parameters(), 1.0)
        optimizer.step()


# ---- a transformer of torch.nn ---------------------------------------------------------------------------------------


def transformer(dtype):
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, activation="gelu", batch_first=True).to(dtype)
    decoder_layer = nn.TransformerDecoderLayer(16, 4, 32, dropout=0.1).to(dtype)
    source, target = torch.randn(3, 24, 16).to(dtype).requires_grad_(), torch.randn(20, 3, 16).to(dtype).requires_grad_()
    padding = torch.arange(24)[None] >= torch.tensor([24, 18, 9])[:, None]
    memory = layer(source, src_key_padding_mask=padding)
    y = decoder_layer(target, memory.transpose(0, 1), tgt_mask=nn.Transformer.generate_square_subsequent_mask(20).to(dtype),
                      memory_key_padding_mask=padding)
    pull_back(y)


# ---- detection, in place of torchvision's operators their formulas -----------------------------------------------------


def box_area(b):
    return (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])


def detection(dtype):
    """A pyramid of features, anchors, matched boxes, offsets, sampled regions, losses over what was chosen."""
    backbone = nn.ModuleList([nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 2, 1), nn.Conv2d(8, 8, 1), nn.Conv2d(8, 15, 3, padding=1)]).to(dtype)
    image = torch.randn(2, 3, 32, 32).to(dtype)
    first = F.relu_(backbone[0](image))
    second = F.leaky_relu(backbone[1](first), 0.1)
    top = backbone[2](first) + F.interpolate(second, scale_factor=2.0, mode="nearest")
    raw = backbone[3](top).permute(0, 2, 3, 1).reshape(2, -1, 5)
    grid_y, grid_x = torch.meshgrid(torch.arange(16), torch.arange(16), indexing="ij")
    centres = torch.stack((grid_x, grid_y), -1).view(-1, 1, 2).expand(-1, 3, 2).reshape(-1, 2).to(dtype) * 2 + 1
    deltas, logits = raw[0].split((4, 1), dim=1)
    size = torch.exp(deltas[:, 2:].clamp(max=4.0)) * 8
    boxes = torch.cat((centres + deltas[:, :2] - size / 2, centres + deltas[:, :2] + size / 2), 1)
    truth = torch.tensor([[2.0, 3, 14, 20], [10, 8, 30, 28]], dtype=dtype)
    least, most = torch.max(boxes[:, None, :2], truth[:, :2]), torch.min(boxes[:, None, 2:], truth[:, 2:])
    inner = (most - least).clamp(min=0).prod(2)
    overlap = inner / (box_area(boxes)[:, None] + box_area(truth) - inner)
    best, matched = overlap.max(dim=1)
    positive = torch.where(best > 0.2)[0]
    labels = torch.zeros_like(logits[:, 0])
    labels[positive] = 1.0
    order = logits[:, 0].detach().argsort(descending=True)[:64]
    chance = torch.sigmoid(logits[:, 0])
    focal = F.binary_cross_entropy_with_logits(logits[:, 0], labels, reduction="none") * (chance * (1 - labels) + (1 - chance) * labels) ** 2.0
    regression = F.smooth_l1_loss(boxes[positive], truth[matched[positive]], beta=0.1, reduction="sum") / max(1, positive.numel())
    theta = torch.tensor([[0.5, 0, 0.1], [0, 0.5, -0.2]], dtype=dtype).expand(2, 2, 3)
    regions = F.grid_sample(top, F.affine_grid(theta, [2, 8, 7, 7], align_corners=False), mode="bilinear", align_corners=False)
    classes = F.adaptive_avg_pool2d(regions, 1).flatten(1)
    (focal.sum() / 64 + regression + (1 - overlap.gather(1, matched[:, None])[order]).mean() + classes.square().mean()).backward()


# ---- speech --------------------------------------------------------------------------------------------------------------


def speech(dtype):
    """A spectrogram, convolutions over time, packed recurrent layers of both directions, CTC."""
    window = torch.hann_window(64, dtype=dtype)
    wave = (0.1 * torch.randn(3, 1200)).to(dtype)
    spectrum = torch.stft(wave, 64, hop_length=32, win_length=64, window=window, center=True, pad_mode="reflect", normalized=False,
                          onesided=True, return_complex=True)
    power = spectrum.abs().pow(2.0)
    mel = torch.matmul(torch.rand(16, 33).to(dtype), power)
    x = torch.log(torch.clamp(mel, min=1e-5))
    x = (x - x.mean((1, 2), keepdim=True)) / x.std((1, 2), keepdim=True)
    conv, gru, lstm, head = nn.Conv1d(16, 12, 3, padding=1), nn.GRU(12, 8, 2, batch_first=True, bidirectional=True, dropout=0.2), nn.LSTM(16, 8, proj_size=6), nn.Linear(6, 7)
    for module in (conv, gru, lstm, head):
        module.to(dtype)
    h = F.dropout(F.hardswish(conv(x)), 0.1, True).transpose(1, 2)  # not gelu: oneDNN's gradient takes any cotangent for contiguous
    lengths = torch.tensor([38, 30, 21])
    packed = nn.utils.rnn.pack_padded_sequence(h, lengths, batch_first=True, enforce_sorted=False)
    packed, _ = gru(packed)
    y, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    y, _ = lstm(y.transpose(0, 1))
    chances = F.log_softmax(head(y), dim=-1)
    targets = torch.randint(1, 7, (3, 8))
    F.ctc_loss(chances, targets, lengths, torch.tensor([8, 6, 5]), zero_infinity=True).backward()
    back = torch.istft(spectrum * 1.1, 64, hop_length=32, window=window, length=1200)
    assert torch.isfinite(back).all()


# ---- diffusion -------------------------------------------------------------------------------------------------------------


def diffusion(dtype):
    """A U with positions of time, normalized groups, attention over pixels and between pixels and text, an exponential average."""
    time, width = torch.tensor([3, 700]), 16
    half = torch.exp(-torch.arange(8) * (9.2103 / 8))
    position = time[:, None].float() * half[None]
    embedded = torch.cat([position.sin(), position.cos()], dim=-1).to(dtype)
    blocks = nn.ModuleDict({
        "time": nn.Sequential(nn.Linear(width, 32), nn.SiLU(), nn.Linear(32, 2 * width)), "in": nn.Conv2d(4, width, 3, padding=1),
        "norm": nn.GroupNorm(4, width), "conv": nn.Conv2d(width, width, 3, padding=1), "down": nn.Conv2d(width, width, 3, stride=2),
        "attention": nn.GroupNorm(4, width, eps=1e-6), "qkv": nn.Conv1d(width, 3 * width, 1), "text": nn.Linear(12, 2 * width),
        "query": nn.Linear(width, width), "layer": nn.LayerNorm(width), "up": nn.ConvTranspose2d(width, width, 4, 2, 1), "out": nn.Conv2d(2 * width, 4, 3, padding=1)}).to(dtype)
    average = [p.detach().clone() for p in blocks.parameters()]
    clean, noise, text = (torch.randn(*s).to(dtype) for s in ((2, 4, 16, 16), (2, 4, 16, 16), (2, 5, 12)))
    share = torch.linspace(0.99, 0.01, 1000)[time].to(dtype).view(-1, 1, 1, 1)
    noisy = share.sqrt() * clean + (1 - share).sqrt() * noise
    scale, shift = blocks["time"](embedded)[:, :, None, None].chunk(2, dim=1)
    first = blocks["in"](noisy)
    h = first + blocks["conv"](F.silu(blocks["norm"](first) * (1 + scale) + shift))
    h = blocks["down"](F.pad(h, (0, 1, 0, 1), mode="constant", value=0))
    flat = blocks["attention"](h).flatten(2)
    q, k, v = blocks["qkv"](flat).reshape(2 * 2, 24, 64).split(8, dim=1)
    weights = torch.softmax(torch.einsum("bct,bcs->bts", q * 8**-0.25, k * 8**-0.25).float(), dim=-1).type(dtype)
    h = h + torch.einsum("bts,bcs->bct", weights, v).reshape(2, width, 8, 8)
    tokens = blocks["layer"](h.flatten(2).transpose(1, 2))
    key, value = blocks["text"](text).chunk(2, -1)
    scores = torch.baddbmm(torch.empty(2, 64, 5, dtype=dtype), blocks["query"](tokens), key.transpose(-1, -2), beta=0, alpha=0.25)
    h = h + torch.bmm(scores.softmax(dim=-1), value).transpose(1, 2).unflatten(2, (8, 8))
    h = torch.cat((blocks["up"](h), F.interpolate(F.interpolate(first, scale_factor=0.5, mode="area"), size=(16, 16), mode="bilinear", align_corners=False)), dim=1)
    F.mse_loss(blocks["out"](F.silu(h)).float(), noise.float(), reduction="mean").backward()
    with torch.no_grad():
        for mean, p in zip(average, blocks.parameters()):
            mean.mul_(0.999).add_(p, alpha=0.001)


# ---- optimizers and what stands around them ----------------------------------------------------------------------------


def optimizers(dtype):
    shapes = ((8, 6), (6,), (3, 8, 2))
    for make in (lambda p: torch.optim.AdamW(p, foreach=True, amsgrad=True), lambda p: torch.optim.Adam(p, weight_decay=0.1, maximize=True),
                 lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=1e-3), lambda p: torch.optim.RMSprop(p, centered=True, momentum=0.5),
                 lambda p: torch.optim.Adagrad(p), lambda p: torch.optim.Adadelta(p), lambda p: torch.optim.Adamax(p), lambda p: torch.optim.NAdam(p),
                 lambda p: torch.optim.RAdam(p), lambda p: torch.optim.Rprop(p), lambda p: torch.optim.ASGD(p)):
        parameters = [torch.randn(*s).to(dtype).requires_grad_() for s in shapes]
        optimizer = make(parameters)
        for _ in range(2):
            optimizer.zero_grad(set_to_none=True)
            sum((p * torch.randn(p.shape).to(dtype)).sum() + p.square().mean() for p in parameters).backward()
            nn.utils.clip_grad_norm_(parameters, 0.5)
            nn.utils.clip_grad_value_(parameters, 0.3)
            optimizer.step()


STEPS = (decoder, losses, activations, tensors, convolutional, language_model, transformer, detection, speech, diffusion, optimizers)
