"""
Native kernels of loglinear. Internal: the public surface is the Python package.
"""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class ParseError(ValueError):
    pass

class ThreadPool:
    """A fixed set of native threads; results do not depend on who is free."""

    def __init__(self, n_threads: int) -> None: ...

    @property
    def size(self) -> int: ...

def simd_name() -> str:
    """The instruction set in use."""

def simd_select(name: str) -> bool:
    """
    Use 'baseline', 'avx2', 'avx512' or 'auto'; False where this machine cannot.
    """

def exp(x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def log(x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def logsumexp(x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

class SparseMatrix32:
    """Compressed sparse rows, checked once when made."""

    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_columns: int) -> None: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def n_nonzeros(self) -> int: ...

    def margins(self, pool: ThreadPool, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_classes: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """out[r, k] = bias[k] + sum_j X[r, j] weights[j, k]"""

    def sparse_margins(self, pool: ThreadPool, weight_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        margins with the weights of each feature given by class, those of zero left out
        """

    def gradient(self, pool: ThreadPool, residuals: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_classes: int, power: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        For a transposed matrix: out[j, k] = sum_r X[j, r]^power residuals[r, k]
        """

    def tied_margins(self, pool: ThreadPool, shared: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], map: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_classes: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        margins with weights[j, k] = shared[map[j, k]]; the map must have been checked by check_groups
        """

    def tied_gradient(self, pool: ThreadPool, residuals: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], map: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_classes: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """gradient summed over the weights that share a value"""

    def transpose(self, pool: ThreadPool, indptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu')], indices: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

class SparseMatrix64:
    """Compressed sparse rows, checked once when made."""

    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_columns: int) -> None: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def n_nonzeros(self) -> int: ...

    def margins(self, pool: ThreadPool, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_classes: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """out[r, k] = bias[k] + sum_j X[r, j] weights[j, k]"""

    def sparse_margins(self, pool: ThreadPool, weight_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        margins with the weights of each feature given by class, those of zero left out
        """

    def gradient(self, pool: ThreadPool, residuals: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_classes: int, power: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        For a transposed matrix: out[j, k] = sum_r X[j, r]^power residuals[r, k]
        """

    def tied_margins(self, pool: ThreadPool, shared: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], map: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_classes: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        margins with weights[j, k] = shared[map[j, k]]; the map must have been checked by check_groups
        """

    def tied_gradient(self, pool: ThreadPool, residuals: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], map: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_classes: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """gradient summed over the weights that share a value"""

    def transpose(self, pool: ThreadPool, indptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu')], indices: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

@overload
def dense_margins(pool: ThreadPool, X: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_columns: int, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_classes: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

@overload
def dense_margins(pool: ThreadPool, X: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], n_columns: int, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_classes: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

@overload
def dense_gradient(pool: ThreadPool, X: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_columns: int, residuals: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_classes: int, power: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

@overload
def dense_gradient(pool: ThreadPool, X: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], n_columns: int, residuals: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_classes: int, power: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def column_sums(pool: ThreadPool, R: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_classes: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def weigh_rows(pool: ThreadPool, indptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], growth: str, scale: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, unit: bool, values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """counts -> values of features, in place"""

def add_bias(pool: ThreadPool, M: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def check_labels(labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_classes: int) -> None: ...

def log_loss(pool: ThreadPool, margins: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], sample_weight: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_classes: int) -> float:
    """
    Loss of margins [n, K]; they become residuals. Labels must have been checked by check_labels.
    """

def probabilities(pool: ThreadPool, margins: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n_classes: int, logarithm: bool) -> None: ...

def log_loss_hessian(pool: ThreadPool, P: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], sample_weight: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_classes: int, vectors: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def log_loss_curvature(pool: ThreadPool, P: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], sample_weight: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_classes: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def identical_columns(pool: ThreadPool, columns: SparseMatrix32, groups: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')]) -> int:
    """
    Number columns (rows of a transposed matrix) so that equal ones share a number; returns how many there are.
    """

@overload
def tie_columns(rows: SparseMatrix32, pool: ThreadPool, groups: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> tuple:
    """
    (indptr, indices, values) of scale[g] * the sum of the columns of each group
    """

@overload
def tie_columns(rows: SparseMatrix64, pool: ThreadPool, groups: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> tuple: ...

def cluster_values(pool: ThreadPool, values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], importance: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_clusters: int, sweeps: int, split_signs: bool, map: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')]) -> int:
    """
    Sort and cut into blocks of small squared error; returns the number of blocks.
    """

def check_groups(map: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_groups: int) -> None: ...

def sum_groups(pool: ThreadPool, values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], map: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def copy_groups(pool: ThreadPool, shared: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], map: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def dot(pool: ThreadPool, a: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

def dot_difference(pool: ThreadPool, g: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float:
    """g . (x - y)"""

def max_abs(pool: ThreadPool, a: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

def forward_step(pool: ThreadPool, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], before: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], g: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], g_before: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], momentum: float, metric: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, lipschitz: float, step: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """
    step = 1 / (lipschitz metric),  z = x + momentum (x - before) - step (g + momentum (g - g_before))
    """

def test_step(pool: ThreadPool, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], before: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], g: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], g_before: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], momentum: float, metric: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, to: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], g_to: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> tuple[float, float, float]:
    """
    With y, h extrapolated: ((g_to - h) . (to - y), sum metric (to - y)^2, sum metric (y - to) (to - x))
    """

@overload
def multiply(pool: ThreadPool, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

@overload
def multiply(pool: ThreadPool, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """out = x * y, entry by entry; out may be either"""

@overload
def combine(pool: ThreadPool, a: float, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], b: float, y: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

@overload
def combine(pool: ThreadPool, a: float, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], b: float, y: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')]) -> None:
    """out = a x + b y; out may be x or y"""

@overload
def scaled_difference(pool: ThreadPool, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], unit: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, divide: bool, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

@overload
def scaled_difference(pool: ThreadPool, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], unit: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, divide: bool, out: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')]) -> None: ...

@overload
def scaled_difference(pool: ThreadPool, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], unit: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)] | None, divide: bool, out: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')]) -> None:
    """out = (x - y) * unit, or (x - y) / unit; None is one"""

def dots(pool: ThreadPool, rows: Sequence[Annotated[NDArray, dict(order='C', device='cpu', writable=False)]], targets: Sequence[Annotated[NDArray, dict(order='C', device='cpu', writable=False)]], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """out[i, j] = rows[i] . targets[j]; vectors may be float64 or float32"""

def weighted_sum(pool: ThreadPool, coefficients: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], rows: Sequence[Annotated[NDArray, dict(order='C', device='cpu', writable=False)]], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """out = sum_i coefficients[i] rows[i]; rows may be float64 or float32"""

class Subset:
    """which entries of a vector a part has: ascending positions"""

    def __init__(self, positions: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], n_whole: int) -> None: ...

    def gather(self, pool: ThreadPool, whole: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], part: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """part = whole[positions]"""

    def add(self, pool: ThreadPool, part: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], whole: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """whole[positions] += part"""

    def __len__(self) -> int: ...

class Separable:
    """sum_j a_j |w_j| + b_j w_j^2 / 2 over the first n_penalised weights."""

    @overload
    def __init__(self, l1: float, l2: float, l1_scale: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, l2_scale: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_penalised: int, nonnegative: bool) -> None: ...

    @overload
    def __init__(self, pool: ThreadPool, classes: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], l1: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], l2: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], nonnegative: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)]) -> None:
        """By class; the tables are copied."""

    @overload
    def __init__(self, pool: ThreadPool, classes: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], l1: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], l2: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], nonnegative: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def value(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

    def add_smooth(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float: ...

    def add_curvature(self, pool: ThreadPool, diagonal: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def max_strength(self, pool: ThreadPool, gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

    def dual(self, pool: ThreadPool, gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], scale: float) -> tuple[float, float, float]:
        """(ridge, ratio, free): the parts of the conjugate at -scale * gradient"""

    def hold(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def class_sums(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], squared: bool, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def prox(self, pool: ThreadPool, z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def pseudo_gradient(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], smooth_gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def violation(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], loss_gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

    def align(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], pseudo: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], direction: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def project(self, pool: ThreadPool, start: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], pseudo: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

class AcceleratedPath:
    """
    Three points and two gradients of an accelerated method, and its metric.
    """

    def __init__(self, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], before: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], older: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], g_before: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], g_older: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], metric: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def turn(self) -> None:
        """Let `before` and `older` change names."""

    def accelerate(self, pool: ThreadPool, penalty: Separable, gradient: NDArray[numpy.float64], momentum: float, next_momentum: float, lipschitz: float) -> tuple[float, float, float, float, float, float]: ...

    def retake(self, pool: ThreadPool, penalty: Separable, momentum: float, lipschitz: float) -> None:
        """x = the step from `before` with this momentum."""

class SingleAcceleratedPath:
    """
    Three points and two gradients of an accelerated method, and its metric.
    """

    def __init__(self, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], before: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], older: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], g_before: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], g_older: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], metric: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def turn(self) -> None:
        """Let `before` and `older` change names."""

    def accelerate(self, pool: ThreadPool, penalty: Separable, gradient: NDArray[numpy.float64], momentum: float, next_momentum: float, lipschitz: float) -> tuple[float, float, float, float, float, float]: ...

    def retake(self, pool: ThreadPool, penalty: Separable, momentum: float, lipschitz: float) -> None:
        """x = the step from `before` with this momentum."""

def online_pass(rows: SparseMatrix32, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], sample_weight: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_classes: int, intercept: bool, penalty: Separable, alpha: float, beta: float, z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float:
    """One pass of FTRL-Proximal over the rows; returns the progressive loss."""

class Tree:
    """A forest cut into units of work."""

    def __init__(self, parent: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], unit: int = 16384) -> None: ...

    @property
    def n_units(self) -> int: ...

    @property
    def n_runs(self) -> int: ...

    @property
    def crown_size(self) -> int: ...

def forest_depths(parent: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], depth: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')]) -> None: ...

def sort_forest(parent: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')], sorted_parent: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')]) -> None: ...

class TreeL2:
    """
    sum_g k_g sqrt(sum_i q_i / q_g x_i^2) over subtrees + l2 / 2 sum x^2, q = scale, or 1.
    """

    def __init__(self, tree: object, strength: float, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, multiplicity: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, growth: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, depth: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)] | None, scale: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, l2: float, nonnegative: bool, plain: bool = False) -> None: ...

    def value(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

    def prox(self, pool: ThreadPool, z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def violation(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], loss_gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

    def max_strength(self, pool: ThreadPool, gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

class TreeLinf:
    """sum_g k_g max |x_i| over subtrees + l2 / 2 sum m_i x_i^2."""

    def __init__(self, tree: object, strength: float, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, multiplicity: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, growth: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, depth: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)] | None, scale: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, l2: float, nonnegative: bool, plain: bool = False) -> None: ...

    def value(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

    def prox(self, pool: ThreadPool, z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def violation(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], loss_gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

    def max_strength(self, pool: ThreadPool, gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float: ...

    def prox_pivot(self, pool: ThreadPool, z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], seed: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def pivot_counts(self, pool: ThreadPool, z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], merged: bool) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

def parse_svmlight(pool: ThreadPool, text: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], base: str, n_features: int, chunk_size: int = 1048576) -> tuple:
    """
    (indptr, indices, values, labels, label blob, label offsets, n_features); n_features < 0: as found
    """

def check_strings(blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> None: ...

def gather_strings(blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> tuple:
    """(blob, offsets) of the strings chosen"""

class StringIndex:
    """Look-up of strings in (blob, offsets), which it keeps alive."""

    def __init__(self, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def find(self, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')]) -> None:
        """out[i] = id of string i, or -1"""

class NgramKinds:
    """Which n-grams of texts are counted."""

    def __init__(self, orders: Sequence[int], char_orders: Sequence[int], across_words: bool, stop_words: StringIndex | None) -> None: ...

def fit_text_ngrams(pool: ThreadPool, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], kinds: NgramKinds, min_count: int) -> tuple:
    """((indptr, indices, values), names blob, names offsets)"""

def count_text_ngrams(pool: ThreadPool, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], kinds: NgramKinds, vocabulary: StringIndex) -> tuple:
    """(indptr, indices, values)"""

def hash_text_ngrams(pool: ThreadPool, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], kinds: NgramKinds, n_buckets: int, numbers: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None) -> tuple:
    """(indptr, indices, values)"""

def replace_words(pool: ThreadPool, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], words: StringIndex, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], names: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], name_offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], mark: str) -> tuple:
    """(blob, offsets) of the texts with classes in place of their words"""

def parse_conll(pool: ThreadPool, text: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], separator: str, comments: bool, chunk_size: int = 262144) -> tuple:
    """(sequence_ptr, first lines, [(ids, blob, offsets) of each column])"""

def format_conll(sequence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], ids: Sequence[Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]], blobs: Sequence[Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)]], offsets: Sequence[Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]], separator: str) -> bytes:
    """the text of columns"""

def parse_crfsuite(pool: ThreadPool, text: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], chunk_size: int = 262144) -> tuple:
    """
    (sequence_ptr, indptr, indices, values or none of them where all are 1, attribute blob, attribute offsets, labels, label blob, label offsets)
    """

def intern_strings(known_blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], known_offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> tuple:
    """
    (ids of the strings, blob, offsets): the known ones first, then new ones
    """

def hash_strings(blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

class WapitiRegex:
    """A regular expression of Wapiti's templates."""

    def __init__(self, pattern: str) -> None: ...

    def test(self, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], characters: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], classes: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """1 for each string in which it matches"""

    def extract(self, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], characters: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], classes: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)]) -> tuple:
        """(blob, offsets) of what it matches in each string"""

class TemplateSet:
    """The macros of templates."""

    def __init__(self, ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], views: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], absolute: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], n_views: int, n_borders: int = 0) -> None: ...

    def fit(self, pool: ThreadPool, sequence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], ids: Sequence[Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]], maps: Sequence[Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]], known_templates: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], known_codes: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], min_count: int) -> tuple:
        """((indptr, indices), template of each attribute, codes of each)"""

    def hash(self, pool: ThreadPool, sequence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], ids: Sequence[Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]], maps: Sequence[Annotated[NDArray[numpy.uint64], dict(order='C', device='cpu', writable=False)]], first: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], bits: int) -> tuple:
        """(indptr, indices)"""

class AttributeIndex:
    """Look-up of the attributes that templates make."""

    def __init__(self, templates: TemplateSet, attribute_templates: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_values: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def find(self, pool: ThreadPool, sequence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], ids: Sequence[Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]], maps: Sequence[Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]]) -> tuple:
        """(indptr, indices)"""

def tokenise_corpus(pool: ThreadPool, texts: Sequence[Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)]], unit: str, keep_empty: bool, skip_boundaries: bool, chunk_size: int = 0) -> tuple:
    """
    (tokens, sentence_ptr, n_lines of each text, unit blob, unit offsets, counts, first_text, first_line)
    """

def json_texts(pool: ThreadPool, lines: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], key: str, chunk_size: int = 0) -> tuple:
    """
    (the strings under a key of JSON objects, a line end after each; the line of each line; lines read)
    """

def renumber_tokens(pool: ThreadPool, tokens: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')], numbers: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None:
    """tokens[i] = numbers[tokens[i]], in place"""

class AttributeReader:
    """Dicts and lists of Python to rows of attributes."""

    def __init__(self, mixed: bool) -> None: ...

    def add_tokens(self, tokens: object, first: int) -> int:
        """
        Read a list of tokens from one on; return where reading ended: at a token that is left to the caller.
        """

    def add_pairs(self, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], is_dict: bool) -> None:
        """Add one token."""

    def add_encoded(self, sequence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> None:
        """Add whole sequences."""

    def end_sequence(self) -> None: ...

    def drop_tokens(self) -> None:
        """Forget the tokens of an unfinished sequence."""

    @property
    def is_dict(self) -> object:
        """Whether the last token was a dict; None before the first."""

    @property
    def n_sequences(self) -> int: ...

    def arrays(self, more: bool) -> tuple:
        """
        (sequence_ptr, indptr, indices, values or none of them where all are 1, blob, offsets): copies where more will be added; otherwise the reader is empty afterwards.
        """

class StateChain:
    """The Markov chain over the states of an HMM, as sparse rows."""

    def __init__(self, n_labels: int, label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], previous: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], enter: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], leave: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

def attribute_expectations(pool: ThreadPool, chain: StateChain, into: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out_of: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], before: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], after: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], template_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], macro_offset: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], macro_view: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], view_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], view_table: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], attribute_template: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], attribute_values: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], width: int, node_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], node_label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], pair_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], pair_code: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], node_out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], pair_out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """
    Expected counts of (attribute, label) and (attribute, label pair) features.
    """

def sample_sequences(pool: ThreadPool, chain: StateChain, emissions: Sequence[Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]], n: int, seed: int, max_length: int) -> tuple:
    """
    (ids of each column, labels, sequence_ptr) of n sequences drawn from an HMM.
    """

def input_log_probabilities(pool: ThreadPool, chain: StateChain, sequence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """out[i] = log p(observations of sequence i), summed over labels."""

def count_features(pool: ThreadPool, sequence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], attributes: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_labels: int, node_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], node_label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], pair_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], pair_code: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], transition_code: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], trigram_code: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]) -> tuple:
    """
    (indptr, indices, values): how often each labelled sequence has each listed feature.
    """

def posterior_counts(pool: ThreadPool, chain: StateChain, sequence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], attributes: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_labels: int, node_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], node_label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], pair_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], pair_code: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], transition_code: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], trigram_code: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """
    Expected counts of the features over the labellings that an HMM gives to observed sequences.
    """

class Sequences:
    """Tokens with attributes, checked once."""

    def __init__(self, sequence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, n_attributes: int, numbers: Sequence[Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]] = [], emissions: Sequence[Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]] = []) -> None: ...

class ChainFeatures:
    """Which features have weights, checked once."""

    def __init__(self, n_labels: int, node_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], node_label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], pair_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], pair_code: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], transition_code: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], trigram_code: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_numbers: int = 0) -> None: ...

class ChainModel:
    """Scores of label chains."""

    def __init__(self, features: object, start: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, stop: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, transitions: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, trigrams: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, machine: str = 'auto') -> None: ...

    def set(self, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def machine(self) -> str: ...

class ChainTokens:
    """Attributes of tokens resolved to weights, for training."""

    def __init__(self, pool: ThreadPool, features: ChainFeatures, sequences: Sequences, by_listed: bool = False) -> None: ...

    @property
    def n_listed(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_row_uses(self) -> int: ...

    @property
    def n_single_uses(self) -> int: ...

    @property
    def n_bundles(self) -> int: ...

def observed_features(pool: ThreadPool, sequences: Sequences, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_labels: int, scopes: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None, pairs: bool, min_count: int) -> tuple:
    """(pointers, codes) of the features that occur"""

def chain_loss(pool: ThreadPool, kind: str, model: ChainModel, sequences: Sequences, tokens: ChainTokens, node_base: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], allowed: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float: ...

def chain_viterbi(pool: ThreadPool, model: ChainModel, sequences: Sequences, node_base: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, local: ChainModel | None, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')]) -> None: ...

def chain_nbest(pool: ThreadPool, model: ChainModel, sequences: Sequences, node_base: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, local: ChainModel | None, k: int, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')], scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def chain_marginals(pool: ThreadPool, model: ChainModel, sequences: Sequences, node_base: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, local: ChainModel | None, log_z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], nodes: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, edges: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None) -> None: ...

def chain_scores(pool: ThreadPool, model: ChainModel, sequences: Sequences, node_base: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, local: ChainModel | None, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def chain_sample(pool: ThreadPool, model: ChainModel, sequences: Sequences, node_base: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, local: ChainModel | None, seed: int, n_samples: int, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')]) -> None: ...

class StochasticChain:
    """Stochastic gradient descent on a CRF, batch by batch."""

    def __init__(self, pool: ThreadPool, features: object, sequences: object, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def step_along(self, order: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], eta: float, decay_after: float, ridge: float, seen: float) -> float: ...

    def clear(self) -> None: ...

    def weights(self, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    @property
    def n_batches(self) -> int: ...

class OnlineChain:
    """Online training of label chains, one sequence after another."""

    def __init__(self, features: object, sequences: object, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def perceptron(self, order: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> float: ...

    def passive_aggressive(self, order: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], type: int, c: float, error_sensitive: bool) -> float: ...

    def arow(self, order: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], variance: float, gamma: float) -> float: ...

    def sgd(self, order: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], strength: float, time: float) -> float: ...

    @property
    def n_weights(self) -> int: ...

    def clear(self) -> None: ...

    def weights(self, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def average(self, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

class NgramHistories:
    """The contexts of an n-gram trie that are histories of tokens."""

    def __init__(self, n_words: int, context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], entry_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], arrays: Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]]) -> None: ...

    def terms(self) -> tuple:
        """
        (histories, terms of naive summation, of unigram caching, of hierarchical training).
        """

    def histories(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """Numbers of the contexts that are the longest of some token."""

    def naive(self, pool: ThreadPool, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], contexts: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], log_z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], expectations: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None) -> int:
        """
        Normalisers of these contexts by summing over all words; adds to expectations; the number of terms.
        """

    def unigram_caching(self, pool: ThreadPool, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], log_z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], expectations: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, shared: bool = False, work: int = 4194304) -> int:
        """
        Normalisers of all histories by unigram caching, and expectations; the number of terms.
        """

    def log_loss(self, pool: ThreadPool, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], log_z: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> float:
        """Minus the log-likelihood of the corpus."""

    def expectations_by_total(self, pool: ThreadPool, log_p: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], log_r: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """Expectations by the number of active entries: [order, n_entries]."""

def scaling_step(pool: ThreadPool, expectations: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], multiplicity: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], limit: float, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """The step of iterative scaling, one equation per weight."""

class NgramShape:
    """contexts and entries of a trie or a back-off model, checked"""

    def __init__(self, pool: ThreadPool, n_words: int, context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], entry_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], context_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_child: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_entry: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None: ...

class BackoffArrays:
    """a shape with log back-offs and log probabilities, checked"""

    def __init__(self, pool: ThreadPool, shape: NgramShape, log_backoff: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], log_probability: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

def log_probabilities_of(pool: ThreadPool, model: BackoffArrays, shape: NgramShape, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """log p(w | h) under a model for every entry of a shape"""

def loglinear_weights(pool: ThreadPool, model: BackoffArrays, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """weights of the maximum-entropy model that a back-off model is"""

def normalising_backoffs(pool: ThreadPool, shape: NgramShape, log_probability: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], log_backoff: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """back-offs with which every context sums to one"""

def unite_shapes(a: NgramShape, b: NgramShape) -> tuple:
    """
    (context_start, entry_start, context_word, context_child, context_entry, entry_word) of both together
    """

class ArpaText:
    """the lines of an ARPA file, block by block"""

    def __init__(self, pool: ThreadPool, model: BackoffArrays, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def n_lines(self, order: int) -> int: ...

    def lines(self, pool: ThreadPool, order: int, begin: int, end: int, digits: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """lines [begin, end) of an order"""

def parse_arpa(pool: ThreadPool, text: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], chunk_size: int = 262144, any_bytes: bool = False) -> tuple:
    """
    (blob, offsets of the words, arrays of the shape, log_backoff, log_probability)
    """

def place_ngrams(pool: ThreadPool, n_words: int, words: Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]], kinds: Sequence[Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)]]) -> tuple:
    """
    from n-grams of each order, words [n][order] in the order of a text and kinds [n] (1 an entry, 2 a context, or both): (arrays of the shape, [(entry numbers, context numbers) of each order])
    """

class SmoothingTrie:
    """The arrays of an n-gram trie, checked."""

    def __init__(self, pool: ThreadPool, order: int, n_words: int, context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], entry_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], context_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_child: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_entry: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_count: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_parent: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_count: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None: ...

def adjusted_counts(pool: ThreadPool, trie: SmoothingTrie, collapsed: bool, out: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')]) -> None:
    """
    out[e] = how many different words came before the n-gram e, for orders below the highest.
    """

def counts_of_counts(pool: ThreadPool, trie: SmoothingTrie, adjusted: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> list[list[int]]:
    """Per order, how many n-grams have an adjusted count of 1, 2, 3 and 4."""

def smooth(pool: ThreadPool, trie: SmoothingTrie, adjusted: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)] | None, discounts: Sequence[Sequence[float]], per_type: Sequence[float], constant: Sequence[float], cut: Sequence[int], interpolate: bool, log_probability: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], log_backoff: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """Log-probabilities of all n-grams and back-off weights of all contexts."""

class MappedAutomaton:
    """the automaton of a counted model in mapped temporary files"""

    def arrays(self) -> tuple:
        """(state after <s>, context_start, contexts [n, 4], entries [m, 3])"""

    @property
    def n_ngrams(self) -> list[int]: ...

def adjust_mapped(pool: ThreadPool, trie: MappedTrie, folder: str) -> list[list[int]]:
    """
    computes the adjusted counts of a mapped trie; per order, how many n-grams have one of 1, 2, 3 and 4
    """

def estimate_mapped(pool: ThreadPool, trie: MappedTrie, discounts: Sequence[Sequence[float]], per_type: Sequence[float], constant: Sequence[float], cut: Sequence[int], folder: str, consume: bool, meter: WorkMeter | None) -> MappedAutomaton:
    """
    the automaton of the smoothed model; consume: the trie is gone afterwards
    """

class TrieAutomaton:
    """the automaton of a model whose n-grams lie on a trie"""

    def __init__(self, pool: ThreadPool, n_words: int, context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], entry_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], context_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_child: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_entry: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_parent: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], log_probability: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], log_backoff: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], keep: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu')], links: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')]) -> None: ...

    @property
    def begin(self) -> int: ...

    @property
    def context_start(self) -> list[int]: ...

    @property
    def n_slots(self) -> int: ...

    def write(self, pool: ThreadPool, contexts: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')], entries: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')]) -> None:
        """write contexts [n, 4] and entries [n_slots, 3]"""

class PrunableModel:
    """The arrays of a back-off model, checked."""

    def __init__(self, pool: ThreadPool, order: int, n_words: int, context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], entry_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], context_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_child: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_entry: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], log_backoff: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], entry_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], log_probability: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

def unseen_mass(pool: ThreadPool, model: PrunableModel, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """out[c] = probability of the words without an entry after context c."""

def entropy_cut(pool: ThreadPool, model: PrunableModel, unseen: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], threshold: float, keep: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu')]) -> None:
    """keep[e] = 0 for entries that relative entropy does not miss."""

def add_cut_mass(pool: ThreadPool, model: PrunableModel, keep: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], unseen: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """
    unseen[c] += probabilities of the entries of context c that are not kept.
    """

def backoff_of_unseen(pool: ThreadPool, model: PrunableModel, unseen: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], log_backoff: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """
    Back-off weights with which a model of these unseen masses sums to one.
    """

def select_entries(model: PrunableModel, keep: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], contexts: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu')]) -> tuple:
    """
    The arrays of the model with the entries kept, and contexts[c] = 1 where context c stays.
    """

class QueryState:
    """What a model needs of the words so far. Equal states predict alike."""

    def __init__(self) -> None: ...

    def __copy__(self) -> QueryState: ...

    def __deepcopy__(self, memo: object | None = None) -> QueryState: ...

    def __hash__(self) -> int: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __ne__(self, arg: object, /) -> bool: ...

    def __lt__(self, arg: QueryState, /) -> bool: ...

    def __le__(self, arg: QueryState, /) -> bool: ...

    def __gt__(self, arg: QueryState, /) -> bool: ...

    def __ge__(self, arg: QueryState, /) -> bool: ...

    def __getstate__(self) -> tuple[int, list[int], list[float]]: ...

    def __setstate__(self, arg: tuple[int, Sequence[int], Sequence[float]], /) -> None: ...

class KenlmQueries:
    """A binary file of KenLM, which it keeps alive."""

    def __init__(self, file: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def order(self) -> int: ...

    @property
    def kind(self) -> int: ...

    @property
    def counts(self) -> list[int]: ...

    @property
    def has_words(self) -> bool: ...

    @property
    def specials(self) -> tuple:
        """numbers of <s> and </s>"""

    def words(self) -> tuple:
        """(blob, offsets) of the words by number; <unk> is the first"""

    def ngrams(self) -> list:
        """
        [(words, log10 of probabilities, of back-offs)] of each order of a trie
        """

    def contains(self, word: object | None) -> bool: ...

    def score(self, sentence: object | None, bos: bool, eos: bool) -> float:
        """log10 of the probability"""

    def full_scores(self, sentence: object | None, bos: bool, eos: bool) -> list:
        """
        [(log10 of the probability, length of the n-gram found, unknown)] of each token
        """

    def score_batch(self, pool: ThreadPool, sentences: object | None, bos: bool, eos: bool) -> tuple:
        """(log_probability, unknown_log_probability, n_words, n_unknown, hits)"""

    def score_lines(self, pool: ThreadPool, text: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)]) -> tuple:
        """as score_batch, for every line"""

    def score_sentences(self, pool: ThreadPool, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], tokens: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None = None, lengths: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu')] | None = None) -> tuple:
        """
        as score_batch, for numbers of the file; tokens and lengths of n-grams found: [n_words + n_sentences]
        """

    def begin(self, state: QueryState) -> None: ...

    def empty(self, state: QueryState) -> None: ...

    def base_score(self, in_state: QueryState, word: object | None, out_state: QueryState) -> float:
        """log10 of the probability"""

    def step(self, in_state: QueryState, word: object | None, out_state: QueryState) -> tuple:
        """(log10 of the probability, length of the n-gram found, unknown)"""

    def walk(self, state: QueryState, text: object | None) -> None:
        """move the state over the words of a text"""

    def next_distribution(self, pool: ThreadPool, state: QueryState, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """out[i] = probability of words[i]"""

    def sample(self, pool: ThreadPool, state: QueryState, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], n: int, max_length: int, temperature: float, unknown: bool, seed: int) -> tuple:
        """(places in words, sentence_ptr)"""

def write_kenlm(pool: ThreadPool, model: BackoffArrays, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], bits: int, array_bits: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """
    the bytes of a file of the kind trie; bits: of quantised values, 0: exact values
    """

def build_automaton(pool: ThreadPool, model: BackoffArrays) -> tuple:
    """
    (state after <s>, context_start, contexts [n, 4], entries [m, 3]) of a back-off model
    """

class AutomatonFile:
    """An open file, and where the arrays of an automaton begin in it."""

    def __init__(self, descriptor: int, name: str, contexts_at: int, entries_at: int) -> None: ...

class BackoffQueries:
    """An automaton and its words, in arrays which it keeps alive."""

    def __init__(self, pool: ThreadPool, begin: int, context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], contexts: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entries: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], is_open: bool, file: AutomatonFile | None = None) -> None:
        """
        With a file, contexts and entries are empty memory, to which it is read when it is used.
        """

    def check_all(self, pool: ThreadPool) -> None:
        """check what no query has come to yet"""

    def score(self, sentence: object | None, bos: bool, eos: bool) -> float:
        """log10 of the probability"""

    def full_scores(self, sentence: object | None, bos: bool, eos: bool) -> list:
        """
        [(log10 of the probability, length of the n-gram found, unknown)] of each token
        """

    def score_batch(self, pool: ThreadPool, sentences: object | None, bos: bool, eos: bool) -> tuple:
        """(log_probability, unknown_log_probability, n_words, n_unknown, hits)"""

    def score_lines(self, pool: ThreadPool, text: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)]) -> tuple:
        """as score_batch, for every line"""

    def score_sentences(self, pool: ThreadPool, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], tokens: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None = None, lengths: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu')] | None = None) -> tuple:
        """
        as score_batch; tokens and lengths of n-grams found: [n_words + n_sentences]
        """

    def begin(self, state: QueryState) -> None: ...

    def empty(self, state: QueryState) -> None: ...

    def base_score(self, in_state: QueryState, word: object | None, out_state: QueryState) -> float:
        """log10 of the probability"""

    def step(self, in_state: QueryState, word: object | None, out_state: QueryState) -> tuple:
        """(log10 of the probability, length of the n-gram found, unknown)"""

    def walk(self, state: QueryState, text: object | None) -> None:
        """move the state over the words of a text"""

    def next_distribution(self, state: QueryState, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """out[w] = probability of word w: [n_words]"""

    def sample(self, pool: ThreadPool, state: QueryState, n: int, max_length: int, temperature: float, unknown: bool, seed: int) -> tuple:
        """(words, sentence_ptr)"""

def most_probable(probabilities: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], k: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """numbers of the k largest, largest first"""

def split_tokens(blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> tuple:
    """
    (first malformed token or -1, surface blob, surface offsets, reading blob, reading offsets, surface of each token, reading of each token)
    """

class Converter:
    """A lexicon and a language model, which it keeps alive."""

    def __init__(self, pool: ThreadPool, queries: object, surface_blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], surface_offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], reading_blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], reading_offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], reading_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], surface: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], log_channel: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def nbytes(self) -> int: ...

    def convert(self, pool: ThreadPool, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], k: int, pieces_are_words: bool, distinct_texts: bool) -> tuple:
        """
        (texts blob, texts offsets, scores, sentence_ptr, unknown words of the best of each)
        """

class NgramMaxent:
    """
    The loss of a maximum-entropy n-gram model by two sweeps over its trie.
    """

    def __init__(self, n_words: int, context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], entry_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], arrays: Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]], unit: int = 8192) -> None: ...

    @overload
    def value_and_step(self, pool: ThreadPool, path: AcceleratedPath, offset: NDArray[numpy.float64] | None, penalty: Separable, momentum: float, next_momentum: float, lipschitz: float, largest: float) -> tuple[float, tuple[float, float, float, float, float, float]]: ...

    @overload
    def value_and_step(self, pool: ThreadPool, path: SingleAcceleratedPath, offset: NDArray[numpy.float64] | None, penalty: Separable, momentum: float, next_momentum: float, lipschitz: float, largest: float) -> tuple[float, tuple[float, float, float, float, float, float]]: ...

    def value_and_gradient(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float: ...

    def curvature_diagonal(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def hessian_vector(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def log_probabilities(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], log_p: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], log_r: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def continued_paths(self, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> int:
        """How many n-grams have the weight of the one that they alone extend."""

    def part_gradient(self, pool: ThreadPool, unigrams: NDArray[numpy.float64], extent: float, w: NDArray[numpy.float64], gradient: NDArray[numpy.float64]) -> tuple[bool, float, float, NDArray[numpy.float64]]: ...

    def part_curvature(self, pool: ThreadPool, unigrams: NDArray[numpy.float64], extent: float, w: NDArray[numpy.float64], out: NDArray[numpy.float64]) -> tuple[bool, float, float, NDArray[numpy.float64], NDArray[numpy.float64]]: ...

    def part_probabilities(self, pool: ThreadPool, unigrams: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], extent: float, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], log_p: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], log_r: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> bool: ...

    def recount(self, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], context_count: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')], entry_count: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')]) -> None:
        """The counts of another text on this trie."""

class NgramForest:
    """Maximum-entropy n-gram models of words within their classes."""

    def __init__(self, pool: ThreadPool, n_words: int, context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], entry_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], arrays: Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]], class_start: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], min_counts: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def n_weights(self) -> int: ...

    @property
    def entry(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """The n-gram of each weight."""

    @property
    def count(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """Its tokens."""

    def on(self, pool: ThreadPool, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> NgramForest:
        """The same weights with the tokens of another text."""

    def value_and_gradient(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float: ...

    def curvature_diagonal(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def hessian_vector(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

class OnlineTree:
    """
    Stochastic and online training of n-gram models with structured penalties.
    """

    def __init__(self, n_words: int, order: int, penalty: str, collapse: bool, nonnegative: bool, strengths: Sequence[float], ridges: Sequence[float], depth_growth: float, ridge_growth: float, unigram_ridge: float, gain: float, mu: float, lipschitz: float, eager: bool = False) -> None: ...

    @property
    def n_tokens(self) -> int: ...

    @property
    def n_sentences(self) -> int: ...

    @property
    def n_steps(self) -> int: ...

    @property
    def n_entries(self) -> int: ...

    @property
    def n_contexts(self) -> int: ...

    @property
    def n_bytes(self) -> int: ...

    def text(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """The sentences taken in, <s> before each."""

    def extend(self, pool: ThreadPool, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> None:
        """Takes sentences in without learning from them."""

    def learn(self, pool: ThreadPool, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], tokens: float = 0.0) -> float:
        """One step on new sentences; returns their loss before it."""

    def step(self, pool: ThreadPool, sentences: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], tokens: float = 0.0) -> float:
        """One step on sentences taken in before; returns their loss before it."""

    def gradient(self, pool: ThreadPool, sentences: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float: ...

    def values(self, pool: ThreadPool, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def set_values(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def layout(self) -> tuple:
        """The arrays of a suffix tree, and where the values of its entries are."""

def build_trie(pool: ThreadPool, n_words: int, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], order: int) -> tuple:
    """
    (context_start, entry_start, context_word, context_child, context_entry, context_count, entry_word, entry_parent, entry_count)
    """

def cut_trie(min_counts: Sequence[int], n_words: int, context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], entry_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], context_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_child: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_entry: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_count: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_parent: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_count: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> tuple:
    """the arrays of the trie without rare n-grams"""

def extend_trie(model_words: int, model_context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], model_entry_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], model_context_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], model_context_child: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], model_context_entry: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], model_entry_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], n_words: int, context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], entry_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], context_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_child: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_entry: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_count: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_parent: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_count: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> tuple:
    """the arrays of the trie with the n-grams of a model"""

class WorkMeter:
    """how far a piece of work has come, to be read from another thread"""

    def __init__(self) -> None: ...

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int: ...

class PageWatch:
    """drops pages of mapped temporary files while the process holds too much"""

    def __init__(self, limit: int) -> None: ...

def resident_bytes() -> int:
    """memory that the process holds now; 0 where the system does not say"""

class TokenSpool:
    """the tokens of a text in a temporary file, and its distinct units"""

    def __init__(self, folder: str) -> None: ...

    def add(self, pool: ThreadPool, tokens: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], first_text: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], first_line: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> None:
        """
        adds a part of the text as tokenise_corpus gave it; its tokens are overwritten
        """

    def units(self) -> tuple:
        """
        (blob, offsets, counts, first_text, first_line) of the distinct units, by first occurrence
        """

    def forget_units(self) -> None:
        """frees the table of units; nothing can be added afterwards"""

    @property
    def n_units(self) -> int: ...

    @property
    def n_tokens(self) -> int: ...

    @property
    def n_sentences(self) -> int: ...

    @property
    def longest(self) -> int:
        """tokens of the longest sentence"""

def mapped_bytes(folder: str, n_bytes: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """
    bytes of a temporary file without a name, mapped into memory: [n_bytes]
    """

class MappedTrie:
    """the trie of a corpus in mapped temporary files"""

    def arrays(self) -> tuple:
        """
        the arrays of NgramTrie, in the order of its fields; numbers of 64 bits if wide
        """

    @property
    def is_wide(self) -> bool: ...

class TrieRuns:
    """sorted runs of the n-grams of a corpus, in a temporary file"""

    def __init__(self, folder: str, n_words: int, order: int) -> None: ...

    def add(self, pool: ThreadPool, n_words: int, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], piece_tokens: int) -> None:
        """counts sentences, in pieces of so many tokens"""

    def add_spool(self, pool: ThreadPool, spool: TokenSpool, begin: int, end: int, numbers: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], piece_tokens: int) -> None:
        """counts tokens [begin, end) of a spool, whose unit u is word numbers[u]"""

    def add_records(self, records: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None:
        """adds what `records` of another part of the corpus returned"""

    def add_words(self, word_counts: Annotated[NDArray[numpy.uint64], dict(order='C', device='cpu', writable=False)]) -> None:
        """adds the `word_counts` of another part of the corpus"""

    def records(self, begin: int, end: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """
        [n * (order + 1)] n-grams whose history has its most recent word in [begin, end), sorted, with counts
        """

    def merge(self, pool: ThreadPool, begin: int, end: int, buffer_bytes: int, consume: bool, meter: WorkMeter | None) -> MappedTrie:
        """
        the trie of the contexts whose most recent word is in [begin, end); consume: the runs are then gone
        """

    def word_counts(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

    def sizes(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
        """
        [V + 1] records by the most recent word of their history, that of <s> last
        """

    @property
    def n_runs(self) -> int: ...

    @property
    def n_tokens(self) -> int: ...

def longest_ngram(n_words: int, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> int:
    """Words of the longest n-gram, <s> and </s> counted."""

def build_suffix_tree(pool: ThreadPool, n_words: int, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], order: int) -> tuple:
    """(the arrays of the trie of classes, context_length, context_end, text)"""

def unpack_suffix_tree(n_words: int, n_children: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], n_entries: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], edge_length: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], edges: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], entry_word: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> tuple:
    """
    What build_suffix_tree gives, from what pack gives; every number is checked.
    """

class SuffixTree:
    """The arrays of a suffix tree, checked."""

    def __init__(self, n_words: int, context_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], entry_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], arrays: Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]], context_length: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], context_end: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], text: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], order: int) -> None: ...

    def score(self, pool: ThreadPool, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], log_p: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], log_r: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_words: int, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], log_probability: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], length: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')]) -> None:
        """
        Log-probabilities of the tokens of a text, and the lengths of the longest n-grams that they end.
        """

    def expand(self, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> tuple:
        """(the arrays of the trie of n-grams, their weights)"""

    def pack(self, x: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> tuple:
        """(n_children, n_entries, edge_length, edges, entry_word, weights)"""

class CandidateFeatureOptions:
    """Which grams of candidates are features."""

    def __init__(self, word_orders: Sequence[int], boundaries: bool, max_skip: int, headwords: str, function_words: object | None, character_orders: Sequence[int]) -> None: ...

    def set_classes(self, words: object, labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], names: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], name_offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], lowered: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], lowered_offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> None:
        """Count n-grams of the classes of words too."""

def fit_candidate_features(pool: ThreadPool, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], list_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], options: CandidateFeatureOptions, min_count: int) -> tuple:
    """((indptr, indices, values), names blob, names offsets)"""

def find_candidate_features(pool: ThreadPool, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], list_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], options: CandidateFeatureOptions) -> tuple:
    """(names blob, names offsets, n_lists, differs) of all features"""

def count_candidate_features(pool: ThreadPool, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], list_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], options: CandidateFeatureOptions, vocabulary: StringIndex) -> tuple:
    """(indptr, indices, values)"""

def candidate_differences(pool: ThreadPool, indptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], list_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], reference: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]) -> tuple:
    """
    (indptr, indices, values) of reference - candidate, for all candidates but the references
    """

def edit_distances(pool: ThreadPool, transcripts: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], transcript_offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], texts: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], list_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], by_characters: bool, distances: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], lengths: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def list_loss(pool: ThreadPool, kind: str, list_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], errors: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, margins: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float:
    """Loss of the margins of pairs; they become its derivatives."""

def list_probabilities(pool: ThreadPool, kind: str, list_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], errors: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, margins: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def list_loss_hessian(pool: ThreadPool, kind: str, list_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], q: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], vectors: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def list_loss_curvature(pool: ThreadPool, kind: str, list_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], columns: SparseMatrix32, q: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def choose_candidates(pool: ThreadPool, list_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], margins: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], reference: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')]) -> None:
    """
    out[i] = place in list i of the candidate with the highest score, the first of equal ones
    """

class ListArrays:
    """Encoded n-best lists whose errors are followed."""

    def __init__(self, rows: object, columns: object, base: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], list_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], place: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], reference: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], errors: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], reference_errors: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

class Stagewise:
    """Stagewise steps on n-best lists under the exponential loss."""

    def __init__(self, pool: ThreadPool, rows: object, columns: object, base: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], pair_weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, method: str, step: float, threshold: float, smoothing: float, shrinkage: float, separated: float) -> None: ...

    def hold_out(self, lists: object) -> None: ...

    def start(self, pool: ThreadPool, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], n_steps: int, alpha: float, fewest: float, fewest_at: int) -> None: ...

    def replay(self, pool: ThreadPool, features: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], changes: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def run(self, pool: ThreadPool, patience: int, feature: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')], change: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], loss: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], l1: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], alpha: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], backward: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu')], n_nonzeros: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu')], held_out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> tuple:
        """(steps taken, 'steps', 'no descent', 'patience' or 'separated')"""

    @property
    def n_features(self) -> int: ...

    @property
    def loss(self) -> float: ...

    @property
    def l1(self) -> float: ...

    @property
    def n_nonzeros(self) -> int: ...

    @property
    def held_out_errors(self) -> float: ...

    @property
    def fresh_at(self) -> int: ...

class FollowedLists:
    """Lists whose errors are followed along a path."""

    def __init__(self, lists: object) -> None: ...

    def follow(self, pool: ThreadPool, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], changes: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """out[t] = errors after t steps"""

class ListPerceptron:
    """The averaged perceptron on n-best lists."""

    def __init__(self, lists: object) -> None: ...

    def pass_over(self, order: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> int:
        """One pass over the lists in this order; the number of updates."""

    def average(self, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def group_rows(pool: ThreadPool, columns: Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]]) -> tuple:
    """
    (an example, the size) of every group of equal rows in lexicographic order, and the group of every row.
    """

def table_leaves(pool: ThreadPool, table: Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]], symbols: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], depth: int, leaf: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')]) -> None: ...

def table_counts(pool: ThreadPool, table: Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]], leaf: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

def table_scores(pool: ThreadPool, table: Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]], leaf: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], depth: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu')]) -> None: ...

def previous_symbols(pool: ThreadPool, numbers: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], event_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], first_back: int, n_back: int, begin: int, out: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')]) -> None: ...

class CompositeProblem:
    """Histories and features of several information sources, checked."""

    def __init__(self, n_words: int, sources: Sequence[Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]]], values: Sequence[Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None], offsets: Sequence[int], leaf: Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]], count: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], observed: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def naive(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> tuple[float, int]:
        """(loss, terms) by naive summation."""

    def naive_log_z(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def scores(self, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], history: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """Scores of all words in one history, before normalisation."""

class CompositeLevels:
    """Normalisers and expectations by levels of super-features."""

    def __init__(self, pool: ThreadPool, problem: CompositeProblem, levels: Sequence[Sequence[tuple[int, int]]]) -> None: ...

    def value_and_gradient(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float: ...

    def hessian_vector(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def log_z(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    @property
    def terms(self) -> int: ...

    @property
    def bytes(self) -> int: ...

    @property
    def nodes(self) -> list[int]: ...

class CompositeDense:
    """Normalisers and expectations over all of a few outcomes."""

    def __init__(self, problem: CompositeProblem, group_start: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)] | None = None, group: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)] | None = None, max_row_bytes: int = 1073741824) -> None:
        """
        group_start: ranges of outcomes that are normalised by themselves; group: that of each history.
        """

    def value_and_gradient(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float: ...

    def hessian_vector(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def log_z(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    @property
    def terms(self) -> int: ...

    @property
    def bytes(self) -> int: ...

class DenseScorer:
    """A trained model of few outcomes, ready for queries."""

    def __init__(self, pool: ThreadPool, dense: CompositeDense, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def log_probabilities(self, pool: ThreadPool, leaf: Sequence[Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        log p of all outcomes in histories given by their contexts: out [n, n_words].
        """

class CompositeClusters:
    """Normalisers and expectations over intersections."""

    def __init__(self, pool: ThreadPool, problem: CompositeProblem, apart: Sequence[int], max_bytes: int) -> None: ...

    def value_and_gradient(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float: ...

    def hessian_vector(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    def log_z(self, pool: ThreadPool, w: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    @property
    def terms(self) -> int: ...

    @property
    def bytes(self) -> int: ...

    @property
    def columns(self) -> list:
        """
        (sources, depths of all but the first, nodes, terms, spread contexts) of every set of sources that intersect.
        """

class Bigrams:
    """Bigrams of sentences; the number 0 stands for their boundary."""

    def __init__(self, pool: ThreadPool, n_words: int, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def counts(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    def by_count(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """The words that occur, by falling count."""

class Exchange:
    """Exchange clustering by class bigrams."""

    def __init__(self, bigrams: Bigrams, n_classes: int, labels: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def step(self, pool: ThreadPool) -> int:
        """Visits every word once; returns how many moved."""

    def labels(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

    @property
    def objective(self) -> float:
        """The log-likelihood of the class bigram model."""

class Bidirectional:
    """Bidirectional exchange clustering."""

    def __init__(self, bigrams: Bigrams, n_classes: int, labels: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def step(self, pool: ThreadPool) -> int:
        """Visits every word once; returns how many moved."""

    def labels(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

    @property
    def objective(self) -> float: ...

class Merger:
    """Merges of classes of words, cheapest first."""

    def __init__(self, pool: ThreadPool, bigrams: Bigrams, n_classes: int, labels: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)] | None = None) -> None: ...

    def insert(self, pool: ThreadPool, n_more: int) -> int:
        """Gives so many more words a class; returns how many are still to come."""

    def put_rest(self, pool: ThreadPool) -> None:
        """Makes one class of all words to come."""

    def labels(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

    def tree(self, pool: ThreadPool) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """
        The two nodes of each merge, one after another; the i-th merge makes node n_classes + i.
        """

def read_brackets(pool: ThreadPool, text: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], chunk_bytes: int = 1048576) -> tuple:
    """(tree_ptr, label, word, size, labels, words) of bracketed trees."""

def write_brackets(pool: ThreadPool, tree_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], word: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], size: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], label_blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], label_offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], word_blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], word_offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """Trees as text, one per line."""

def check_trees(tree_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], word: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], size: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_labels: int, n_words: int) -> None:
    """Raise ValueError for arrays that are no trees."""

def find_heads(tree_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], word: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], size: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_labels: int, n_words: int, from_left: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], wanted_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], wanted: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], is_word_like: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], possessed: int, possessive: int, out: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu')]) -> None:
    """out[v] = the leaf that holds the head word of node v."""

def binarise_trees(tree_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], word: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], size: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_words: int, blob: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], right: bool, horizontal: int, vertical: int, annotate_tags: bool, head: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None) -> tuple:
    """
    (tree_ptr, symbol, word, size, symbols): trees of symbols with at most two children.
    """

def unbinarise_trees(tree_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], symbol: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], word: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], size: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_words: int, kind: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], chain_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], chain: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_labels: int) -> tuple:
    """(tree_ptr, label, word, size): the trees that symbols stand for."""

def generate_trees(pool: ThreadPool, ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], cumulative: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], start: int, n: int, seed: int, max_nodes: int) -> tuple:
    """(tree_ptr, symbol, word, size) of n trees drawn from a grammar."""

class GrammarRules:
    """Rules of a binarised grammar, checked once."""

    def __init__(self, n_symbols: int, start: int, binary_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], unary_parent: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], unary_child: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], tag_symbol: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_labels: int, rule_class: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], class_label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def chart_bytes(self, n: int) -> int:
        """Memory of a chart of n words."""

class TreeFeatures:
    """Which features of trees have weights, checked once."""

    def __init__(self, rules: object, n_words: int, n_word_classes: int, tag_label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], rule_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], rule_weight: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], bucket: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], role_ptr: Sequence[Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)]], role_target: Sequence[Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]]) -> None: ...

    @property
    def n_weights(self) -> int: ...

    @property
    def anchored(self) -> bool: ...

    def count(self, pool: ThreadPool, sentences: TreeSentences, part_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], rule: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], begin: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], split: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]) -> tuple:
        """(indptr, indices, values): how often each tree has each feature."""

class TreeModel:
    """Weights of features of trees, with a base model or without."""

    def __init__(self, features: object, weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], base: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, lexicon_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], lexicon_tag: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], lexicon_base: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None) -> None: ...

class TreeSentences:
    """Sentences of numbered words."""

    def __init__(self, sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], class_of_word: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]) -> None: ...

class TreeMasks:
    """Symbols that may stand over each span."""

    def __init__(self, ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], bits: Annotated[NDArray[numpy.uint64], dict(order='C', device='cpu', writable=False)], coarse: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], n_words: int) -> None: ...

class TreeConstraints:
    """Given brackets and tags, and the labels that unary rules make."""

    def __init__(self, bracket_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)] | None, begin: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None, end: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None, label: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None, tags: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None, hidden: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu', writable=False)], label_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)]) -> None: ...

def tree_loss(pool: ThreadPool, model: TreeModel, sentences: TreeSentences, masks: TreeMasks | None, constraints: TreeConstraints | None, gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float:
    """Sum of log Z; the gradient is the expected counts."""

def tree_log_normalisers(pool: ThreadPool, model: TreeModel, sentences: TreeSentences, masks: TreeMasks | None, constraints: TreeConstraints | None, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
    """log Z of every sentence."""

def best_trees(pool: ThreadPool, model: TreeModel, sentences: TreeSentences, masks: TreeMasks | None, constraints: TreeConstraints | None) -> tuple:
    """(tree_ptr, symbol, word, size, score, list_ptr) of the best trees."""

def nbest_trees(pool: ThreadPool, model: TreeModel, sentences: TreeSentences, masks: TreeMasks | None, constraints: TreeConstraints | None, k: int) -> tuple:
    """The same of the k best trees of every sentence."""

def sample_trees(pool: ThreadPool, model: TreeModel, sentences: TreeSentences, masks: TreeMasks | None, constraints: TreeConstraints | None, n_samples: int, seed: int) -> tuple:
    """The same of trees drawn from p(tree | sentence)."""

def recall_trees(pool: ThreadPool, model: TreeModel, sentences: TreeSentences, masks: TreeMasks | None, constraints: TreeConstraints | None, n_labels: int, cost: float) -> tuple:
    """The same, as trees of labels, of greatest expected recall."""

def tree_marginals(pool: ThreadPool, model: TreeModel, sentences: TreeSentences, masks: TreeMasks | None, constraints: TreeConstraints | None, n_labels: int, threshold: float) -> tuple:
    """(ptr, begin, end, label, probability) of constituents."""

def coarse_masks(pool: ThreadPool, model: TreeModel, sentences: TreeSentences, threshold: float, always_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)] | None, always_symbol: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None, always_begin: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None, always_end: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)] | None) -> tuple:
    """
    (ptr, bits, kept, possible, lost): masks of what a coarse model finds likely.
    """

class WithinClasses:
    """Queries of words within classes; with one class, of an n-gram model."""

    def __init__(self, pool: ThreadPool, shape: NgramShape, weight: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], class_start: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], rank: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)]) -> None: ...

    def leaves(self, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], sentence_ptr: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu')]) -> None:
        """The longest context of every event."""

    def log_probabilities(self, pool: ThreadPool, leaf: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], found: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu')]) -> None:
        """
        log p(word | its class, context) of events, and orders of n-grams found.
        """

class LoglinearCache:
    """A log-linear cache over the events of a text."""

    def __init__(self, pool: ThreadPool, n_words: int, words: Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], document_start: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], window: int, half_lives: Sequence[float], ngram_half_life: float, order: int, ratio: float) -> None: ...

    def n_pairs(self, begin: int, end: int) -> int:
        """How many words are in memory before these events, all together."""

    def collect(self, pool: ThreadPool, begin: int, components: Sequence[tuple[WithinClasses, Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, float]], pairs: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], log_p: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """Probabilities of the words in memory, and of the events themselves."""

    def value_and_gradient(self, pool: ThreadPool, pairs: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> float:
        """Of weights [n_words, n_features]."""

    def curvature(self, pool: ThreadPool, pairs: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """Sums of P times squared features: [n_words, n_features]."""

    def score(self, pool: ThreadPool, begin: int, components: Sequence[tuple[WithinClasses, Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, float]], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """log p of events."""

    def distribution(self, event: int, components: Sequence[tuple[WithinClasses, Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, float]], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """p of all words before an event."""

    def linear(self, pool: ThreadPool, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """
        Probabilities of the events by a linear cache; -1 where nothing is in memory.
        """

    def uses(self, event: int, out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """Decayed uses of all words before an event."""

    def features(self, event: int, word: int, components: Sequence[tuple[WithinClasses, Annotated[NDArray[numpy.uint32], dict(order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, float]], out: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None:
        """Features of a word before an event."""
