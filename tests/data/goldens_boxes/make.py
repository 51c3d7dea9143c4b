"""Goldens of torch_npu's operators on boxes and regions: their public references written out anew with PyTorch, in float64, and
held against the values that their documentation and tests publish. Run with python3 (PyTorch 1.13)."""
import math
from fractions import Fraction
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "goldens"))
import make
import numpy
import torch

OPERATORS = {}


def operator(function):
    OPERATORS["NPU." + function.__name__] = function
    return function


# ---- turned boxes: the corners of what two share, ordered around their middle ------------------------------------------


def corners(box):
    x, y, w, h, degrees = box
    s, c = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    return [(x + c * a * w / 2 - s * b * h / 2, y + s * a * w / 2 + c * b * h / 2) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]


def crossing(p, q, a, b):
    d, e = (q[0] - p[0], q[1] - p[1]), (b[0] - a[0], b[1] - a[1])
    below = d[0] * e[1] - d[1] * e[0]
    if abs(below) < 1e-14:
        return None
    f = (a[0] - p[0], a[1] - p[1])
    t, u = (f[0] * e[1] - f[1] * e[0]) / below, (f[0] * d[1] - f[1] * d[0]) / below
    return (p[0] + t * d[0], p[1] + t * d[1]) if 0 <= t <= 1 and 0 <= u <= 1 else None


def lies_in(point, box):
    x, y, w, h, degrees = box
    s, c = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    u, v = point[0] - x, point[1] - y
    return abs(c * u + s * v) <= w / 2 + 1e-12 and abs(c * v - s * u) <= h / 2 + 1e-12


def shared_area(a, b):
    p, q = corners(a), corners(b)
    points = [c for i in range(4) for j in range(4) if (c := crossing(p[i], p[(i + 1) % 4], q[j], q[(j + 1) % 4]))]
    points += [c for c in p if lies_in(c, b)] + [c for c in q if lies_in(c, a)]
    if len(points) < 3:
        return 0.0
    x, y = sum(c[0] for c in points) / len(points), sum(c[1] for c in points) / len(points)
    points.sort(key=lambda c: math.atan2(c[1] - y, c[0] - x))
    return abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(points, points[1:] + points[:1]))) / 2


@operator
def npu_rotated_overlaps(boxes, others, trans=False):
    return torch.tensor([[[shared_area(a, b) for b in q.tolist()] for a in p.tolist()] for p, q in zip(boxes, others)], dtype=boxes.dtype)


@operator
def npu_rotated_iou(boxes, others, trans=False, mode=0, is_cross=True, v_threshold=0.0, e_threshold=0.0):
    shared = npu_rotated_overlaps(boxes, others)
    return shared / (boxes[..., 2] * boxes[..., 3])[..., None].add((others[..., 2] * others[..., 3])[:, None]).sub(shared)


# ---- suppression ---------------------------------------------------------------------------------------------------------


def suppressed(iou, scores, threshold, least, most):
    left = []
    for i in sorted(range(len(scores)), key=lambda i: -scores[i]):
        if scores[i] > least and len(left) != most and all(iou(i, j) <= threshold for j in left):
            left.append(i)
    return torch.tensor(left, dtype=torch.int32)


@operator
def npu_nms_rotated(dets, scores, iou_threshold, scores_threshold=0, max_output_size=-1, mode=0):
    rows = dets.tolist()
    if mode:
        rows = [((a + c) / 2, (b + d) / 2, c - a, d - b, -t) for a, b, c, d, t in rows]

    def iou(i, j):
        shared = shared_area(rows[i], rows[j])
        return shared / (rows[i][2] * rows[i][3] + rows[j][2] * rows[j][3] - shared)

    left = suppressed(iou, scores.tolist(), iou_threshold, scores_threshold, max_output_size)
    return left, torch.tensor([len(left)], dtype=torch.int32)


@operator
def npu_nms_v4(boxes, scores, max_output_size, iou_threshold, scores_threshold, pad_to_max_output_size=False):
    low, high = torch.minimum(boxes[:, :2], boxes[:, 2:]), torch.maximum(boxes[:, :2], boxes[:, 2:])

    def iou(i, j):
        shared = (torch.minimum(high[i], high[j]) - torch.maximum(low[i], low[j])).clamp(min=0).prod()
        return float(shared / ((high[i] - low[i]).prod() + (high[j] - low[j]).prod() - shared))

    left = suppressed(iou, scores.tolist(), float(iou_threshold), float(scores_threshold), max_output_size)
    return left, torch.tensor(len(left), dtype=torch.int32)


# ---- anchors -------------------------------------------------------------------------------------------------------------


@operator
def npu_yolo_boxes_encode(anchors, truth, stride, performance_mode=False):
    middle, size = lambda b: (b[:, :2] + b[:, 2:]) / 2, lambda b: b[:, 2:] - b[:, :2]
    cell = ((middle(truth) - middle(anchors)) / stride[:, None] + 0.5).clamp(1e-6, 1 - 1e-6)
    return torch.cat([cell, torch.log((size(truth) / size(anchors)).clamp(min=1e-6))], 1)


@operator
def npu_grid_assign_positive(assigned, overlaps, answers, most, argmax, most_of, argmax_of, num_gts, pos_iou_thr, min_pos_iou, gt_max_assign_all):
    assigned, answers = assigned.clone(), answers.bool()
    positive = (most > pos_iou_thr) & answers
    assigned[positive] = argmax[positive].to(assigned.dtype) + 1
    for k in range(min(int(num_gts), len(overlaps))):
        if most_of[k] <= min_pos_iou:
            continue
        if gt_max_assign_all:
            assigned[(overlaps[k] == most_of[k]) & answers] = k + 1
        elif answers[argmax_of[k]]:
            assigned[argmax_of[k]] = k + 1
    return assigned


# ---- regions -------------------------------------------------------------------------------------------------------------


def bilinear(plane, y, x):
    height, width = plane.shape[-2:]
    if y < -1 or y > height or x < -1 or x > width:
        return torch.zeros_like(plane[:, 0, 0])
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = min(int(y), height - 1), min(int(x), width - 1)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    v, u = y - top, x - left
    return (1 - v) * ((1 - u) * plane[:, top, left] + u * plane[:, top, right]) + v * ((1 - u) * plane[:, bottom, left] + u * plane[:, bottom, right])


@operator
def npu_roi_align(x, rois, spatial_scale, pooled_height, pooled_width, sample_num, roi_end_mode):
    regions = []
    for image, *box in rois.tolist():
        x0, y0, x1, y1 = (c * spatial_scale for c in box)
        if roi_end_mode == 1:
            x1, y1 = x1 + spatial_scale, y1 + spatial_scale
        width, height = x1 - x0, y1 - y0
        if roi_end_mode < 2:
            width, height = max(width, 1), max(height, 1)
        else:
            x0, y0 = x0 - 0.5, y0 - 0.5
        cell_h, cell_w = height / pooled_height, width / pooled_width
        down, across = (sample_num, sample_num) if sample_num > 0 else (math.ceil(cell_h), math.ceil(cell_w))
        cells = []
        for py in range(pooled_height):
            for px in range(pooled_width):
                samples = [bilinear(x[int(image)], y0 + (py + (i + 0.5) / down) * cell_h, x0 + (px + (j + 0.5) / across) * cell_w)
                           for i in range(down) for j in range(across)]
                cells.append(torch.stack(samples).mean(0))
        regions.append(torch.stack(cells, -1).reshape(-1, pooled_height, pooled_width))
    return torch.stack(regions)


@operator
def npu_roi_alignbk(grad, rois, xdiff_shape, pooled_width, pooled_height, spatial_scale, sample_num, roi_end_mode=None):
    x = torch.zeros(xdiff_shape, dtype=grad.dtype, requires_grad=True)
    y = npu_roi_align(x, rois, spatial_scale, pooled_height, pooled_width, sample_num, roi_end_mode)
    return torch.autograd.grad(y, x, grad)[0]


@operator
def npu_ps_roi_pooling(x, rois, spatial_scale, group_size, output_dim):
    """R-FCN's pooling in exact arithmetic: corners are pixels, the second lies one farther, and a cell has what it touches."""
    scale, results = Fraction(spatial_scale), []
    for image, *box in rois.transpose(1, 2).reshape(-1, 5).tolist():
        x0, y0, x1, y1 = (math.floor(Fraction(c) + Fraction(1, 2)) for c in box)
        start, end = (y0 * scale, x0 * scale), ((y1 + 1) * scale, (x1 + 1) * scale)
        cell = [max(e - s, Fraction(1, 10)) / group_size for s, e in zip(start, end)]
        out = torch.zeros(output_dim, group_size, group_size, dtype=x.dtype)
        for i in range(group_size):
            for j in range(group_size):
                at = [(min(max(math.floor(k * c + s), 0), size), min(max(math.ceil((k + 1) * c + s), 0), size))
                      for k, c, s, size in zip((i, j), cell, start, x.shape[2:])]
                if all(first < last for first, last in at):
                    planes = x[int(image), i * group_size + j::group_size ** 2]
                    out = out.index_put((torch.arange(output_dim), torch.tensor(i), torch.tensor(j)),
                                        planes[:, slice(*at[0]), slice(*at[1])].mean((1, 2)))
        results.append(out)
    return torch.stack(results)


# ---- what is published ---------------------------------------------------------------------------------------------------


def drawn(low, high, one, other, dtype=numpy.float32):
    numpy.random.seed(1234)

    def boxes(shape):
        centre = numpy.random.uniform(low, high, shape + [2]).astype(dtype)
        sides = numpy.random.randint(1, 20, size=shape + [2])
        return torch.from_numpy(numpy.concatenate([centre, sides, numpy.random.randint(-180, 180, size=shape + [1])], axis=-1, dtype=dtype))

    return boxes(one), boxes(other)


def same(got, published, tolerance=1e-5):
    wanted = torch.tensor(published, dtype=torch.float64)
    assert got.shape == wanted.shape and torch.allclose(got.double(), wanted, rtol=tolerance, atol=tolerance), (got, wanted)


wide = lambda pair: [t.double() for t in pair]
same(npu_rotated_overlaps(*wide(drawn(30, 60, [1, 3], [1, 2]))), [[[0, 10.289731], [0, 0], [0, 0]]])
same(npu_rotated_overlaps(*wide(drawn(30, 60, [1, 3], [1, 4], numpy.float16))), [[[0, 13.27, 1.022, 0], [0, 0, 54.12, 0], [0, 0, 0, 19.17]]], 1e-3)
same(npu_rotated_iou(*wide(drawn(20, 60, [4, 2], [4, 3])))[:1], [[[0, 0.00045966, 0], [0, 0, 0]]])
same(npu_rotated_iou(*wide(drawn(20, 60, [4, 2], [4, 3])))[2:3], [[[0, 0, 0], [0.00600622, 0.10504241, 0]]])
ramp = torch.arange(1.0, 37).double().reshape(1, 1, 6, 6)
same(npu_roi_align(ramp, torch.tensor([[0, -2.0, -2.0, 22.0, 22.0]]), 0.25, 3, 3, 2, 0), [[[[4.5, 6.5, 8.5], [16.5, 18.5, 20.5], [28.5, 30.5, 32.5]]]])
same(npu_ps_roi_pooling(torch.arange(1.0, 17).reshape(2, 8, 1, 1), torch.arange(1.0, 11).reshape(2, 5, 1), 0.5, 2, 2), torch.zeros(2, 2, 2, 2).tolist())
torch.manual_seed(1234)
yolo = torch.rand(2, 4), torch.rand(2, 4)
same(npu_yolo_boxes_encode(*yolo, torch.tensor([2, 2])), [[0.7921727, 0.5314963, -0.74224466, -13.815511], [0.7360072, 0.58343244, 4.3334002, -0.51378196]])

# ---- the calls -----------------------------------------------------------------------------------------------------------


class Goldens(make.Goldens):
    resolve = staticmethod(OPERATORS.__getitem__)


g = Goldens(__file__)


def npu(name, *args, **kwargs):
    g.add("NPU." + name, *args, grad=kwargs.pop("grad", False), **kwargs)


def turned(*shape, span=10):
    return torch.cat([g.uniform(*shape, 2, low=-span, high=span), g.uniform(*shape, 2, low=1, high=span), g.uniform(*shape, 1, low=-200, high=200)], -1)


def upright(n, span=20):
    low = g.uniform(n, 2, high=span)
    return torch.cat([low, low + g.uniform(n, 2, low=1, high=span)], 1)


npu("npu_rotated_overlaps", turned(2, 5), turned(2, 7))
npu("npu_rotated_overlaps", turned(1, 6, span=300), turned(1, 4, span=300), trans=False)
npu("npu_rotated_overlaps", *drawn(30, 60, [1, 3], [1, 2]))
npu("npu_rotated_iou", turned(2, 6, span=6), turned(2, 6, span=6))
npu("npu_rotated_iou", *drawn(20, 60, [4, 2], [4, 3]), False, 0, True, 0.0, 0.0)
one = turned(1, 4)
npu("npu_rotated_iou", one, one)
near = one.clone()
near[..., :2] += 1e-3
npu("npu_rotated_iou", one, near)
level = torch.tensor([[[0.0, 0, 4, 2, 0], [4, 0, 4, 2, 90], [0, 2, 4, 2, 180], [1, 1, 2, 2, 0]]])
npu("npu_rotated_overlaps", level, level)
for mode in (0, 1):
    boxes = turned(1, 30, span=12)[0] if mode == 0 else torch.cat([upright(30), g.uniform(30, 1, low=-90, high=90)], 1)
    npu("npu_nms_rotated", boxes, g.uniform(30), 0.2, 0, -1, mode)
    npu("npu_nms_rotated", boxes, g.uniform(30), 0.1, 0.3, 5, mode)
npu("npu_nms_v4", upright(40), g.uniform(40), 20, torch.tensor(0.3), torch.tensor(0.2))
npu("npu_nms_v4", upright(25)[:, [2, 3, 0, 1]], g.uniform(25), 4, torch.tensor(0.1), torch.tensor(0.0))
npu("npu_yolo_boxes_encode", upright(9), upright(9), torch.tensor([8, 16, 32] * 3, dtype=torch.int32), False)
npu("npu_yolo_boxes_encode", *yolo, torch.tensor([2, 2], dtype=torch.int32))
for everything in (True, False):
    overlap = (g.uniform(3, 8) * 8).round() / 8
    top, of = overlap.max(0)
    best, where = overlap.max(1)
    npu("npu_grid_assign_positive", g.uniform(8), overlap, g.integers(8, low=0, high=2, dtype=torch.uint8), top, of.int(), best, where.int(),
        torch.tensor([3], dtype=torch.int32), 0.8, 0.1, everything)
    npu("npu_grid_assign_positive", g.uniform(8), overlap, torch.ones(8, dtype=torch.uint8), top, of.int(), best, where.int(), 2, 0.5, 0.9, everything)
rois = torch.cat([torch.tensor([[0.0], [1], [0], [1]]), upright(4, 12)], 1)
for mode in range(4):
    npu("npu_roi_align", g.normal(2, 3, 7, 9), make.fixed(rois), 0.25, 3, 2, 2, mode, grad=True)
    npu("npu_roi_align", g.normal(2, 2, 12, 11), make.fixed(rois), 0.5, 2, 2, 0, mode, grad=True)
    npu("npu_roi_alignbk", g.normal(4, 3, 2, 3), rois, [2, 3, 8, 8], 3, 2, 0.5, 2, mode)
npu("npu_roi_align", ramp.float(), make.fixed(torch.tensor([[0, -2.0, -2.0, 22.0, 22.0]])), 0.25, 3, 3, 2, 0, grad=True)

corners = lambda n, each, images: torch.cat([g.integers(n, 1, each, low=0, high=images).float(), g.uniform(n, 2, each, low=0, high=12),
                                             g.uniform(n, 2, each, low=10, high=26)], 1)
for images, group, dim, scale, height, width in ((2, 3, 2, 0.5, 9, 8), (1, 2, 1, 0.25, 9, 8), (1, 5, 1, 1.0, 7, 6), (1, 7, 1, 0.0625, 4, 4)):
    npu("npu_ps_roi_pooling", g.normal(images, dim * group ** 2, height, width), make.fixed(corners(images, 3, images)), scale, group, dim, grad=True)
npu("npu_ps_roi_pooling", g.normal(1, 8, 9, 9).half(), make.fixed(torch.tensor([[[0.0, 0], [3, 8], [2, 1], [9, 15], [9, 12]]]).half()), 0.5, 2, 2, grad=True)

g.save()
