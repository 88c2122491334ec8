"""JAX: a jitted matrix product and its gradient.

Autotuning is off because it times kernels, so that the number of calls would vary.
"""

import os

os.environ.setdefault("JAX_PLATFORMS", "cuda")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import jax
import jax.numpy as jnp
import numpy

a = numpy.random.RandomState(8).rand(128, 128).astype(numpy.float32)


def loss(w):
    return jnp.sum(jnp.tanh(w @ w * 0.01) ** 2)


value, gradient = jax.jit(jax.value_and_grad(loss))(a)
want = float(numpy.sum(numpy.tanh(a.astype(numpy.float64) @ a * 0.01) ** 2))
print("platform:", jax.devices()[0].platform)
print("value correct:", abs(float(value) - want) < 1e-2 * want)
print("gradient finite:", bool(numpy.isfinite(numpy.asarray(gradient)).all()))
for i in range(5):
    a = numpy.asarray(jax.jit(jnp.sort)(a + i))
print("sorted:", bool((numpy.diff(a, axis=-1) >= 0).all()))
