"""A naive twin of SmooRF (Liu, Luong, Boley and Schmidt, 2026), with Gaussian noise and given bandwidths.

Its prediction is a kernel mean of the training targets. A training row that a tree was trained on has a weight for
every test row: the chance that noise takes the test row into the leaf of the training row, divided by the number of
distinct in-bag rows in that leaf. Weights are divided by their sum, and trees are averaged.
"""

import numpy as np
from scipy.special import ndtr


def leaf_bounds(tree: object, n_attributes: int) -> dict[int, np.ndarray]:
    """Bounds of the box of every leaf of a scikit-learn tree, (n_attributes, 2)."""
    bounds = {0: np.tile([-np.inf, np.inf], (n_attributes, 1))}
    for node in range(tree.node_count):
        if tree.children_left[node] < 0:
            continue
        box, attribute, threshold = bounds.pop(node), tree.feature[node], tree.threshold[node]
        left, right = box.copy(), box.copy()
        left[attribute, 1] = min(box[attribute, 1], threshold)
        right[attribute, 0] = max(box[attribute, 0], threshold)
        bounds[tree.children_left[node]], bounds[tree.children_right[node]] = left, right
    return bounds


def smoorf_trees(
    forest: object, X_train: np.ndarray, y_train: np.ndarray, X: np.ndarray, bandwidths: np.ndarray
) -> np.ndarray:
    """Predictions of every tree, (n_trees, n_rows), with bandwidths (n_trees, n_attributes)."""
    predictions = []
    for member, inbag, bandwidth in zip(forest.estimators_, forest.estimators_samples_, bandwidths):
        rows = np.unique(inbag)
        boxes = leaf_bounds(member.tree_, X.shape[1])
        leaves = member.apply(X_train)[rows]
        bounds = np.array([boxes[leaf] for leaf in leaves])  # (n_inbag, n_attributes, 2)
        z = (bounds[None] - X[:, None, :, None]) / bandwidth[None, None, :, None]
        weights = np.diff(ndtr(z), axis=3)[..., 0].prod(axis=2)
        weights = weights / np.array([np.count_nonzero(leaves == leaf) for leaf in leaves])
        weights /= weights.sum(axis=1, keepdims=True) + 1e-12
        predictions.append(weights @ y_train[rows])
    return np.array(predictions)
