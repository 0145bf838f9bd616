"""A chain of convolutions through OpenVINO; prints an inference's median time and mean CPU time, in ms. Argument: how many."""

import statistics
import sys
import time

import numpy as np
import openvino as ov
from openvino import opset13 as ops

CHANNELS, SIDE, LAYERS = 32, 112, 8

count = int(sys.argv[1])
rng = np.random.default_rng(0)
image = ops.parameter([1, CHANNELS, SIDE, SIDE], np.float32, name="image")
node = image
for layer in range(LAYERS):
    weights = ops.constant(rng.standard_normal((CHANNELS, CHANNELS, 3, 3), dtype=np.float32) * 0.1)
    node = ops.relu(ops.convolution(node, weights, [1, 1], [1, 1], [1, 1], [1, 1], name=f"conv{layer}"))
model = ov.Model([ops.result(node)], [image], "chain")
request = ov.Core().compile_model(model, "CPU").create_infer_request()
data = rng.standard_normal((1, CHANNELS, SIDE, SIDE), dtype=np.float32)
times = []
cpu = time.process_time()
for _ in range(count):
    start = time.perf_counter()
    request.infer([data])
    times.append(time.perf_counter() - start)
cpu = (time.process_time() - cpu) / count
print(f"{statistics.median(times) * 1e3:.4f} {cpu * 1e3:.4f}")
