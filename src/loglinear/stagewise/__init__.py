"""Training on n-best lists one weight or one list at a time: boosting, FSLR, BLasso, the averaged perceptron.

Unlike the solvers of ``loglinear.solvers`` these methods know one kind of data and one loss, whose statistics native
code updates from step to step, and they return a whole path of models.
"""

from loglinear.stagewise.averaged_perceptron import AveragedPerceptron, PerceptronPath
from loglinear.stagewise.base_scores import fit_base_weights
from loglinear.stagewise.method import Stagewise, errors_along
from loglinear.stagewise.path import StagewisePath

__all__ = ["AveragedPerceptron", "PerceptronPath", "Stagewise", "StagewisePath", "errors_along", "fit_base_weights"]
