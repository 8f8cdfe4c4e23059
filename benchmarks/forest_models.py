"""What is to be trained, and models of libraries that are called otherwise, with scikit-learn's `fit` and `predict`."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Job:
    """What is to be trained."""

    task: str
    kind: str  # classification or regression
    members: int
    jobs: int
    n_rows: int
    n_attributes: int

    @property
    def is_class(self) -> bool:
        return self.kind == "classification"

    @property
    def n_drawn(self) -> int:
        """Attributes that are drawn at a node."""
        return max(1, math.isqrt(self.n_attributes))

    @property
    def criterion(self) -> dict[str, str]:
        return {"criterion": "entropy"} if self.task.endswith("-entropy") else {}


class NotAccelerated(RuntimeError):
    """scikit-learn-intelex used scikit-learn's code."""


class OneDal:
    """A forest of scikit-learn-intelex that fails if its log does not say that oneDAL trained it."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> OneDal:
        messages: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
        logger = logging.getLogger("sklearnex")
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.addHandler(handler)
        self.model.fit(X, y)
        logger.removeHandler(handler)
        logger.setLevel(logging.WARNING)  # writing to the log would be part of the time of predict
        if not any(".fit: running accelerated version" in message for message in messages):
            raise NotAccelerated(f"oneDAL was not used; the log says: {'; '.join(messages) or 'nothing'}")
        self.predict = self.model.predict
        return self


class YdfForest:
    """Yggdrasil Decision Forests."""

    def __init__(self, job: Job, **more: Any) -> None:
        import ydf

        ydf.verbose(0)
        self.is_class = job.is_class
        self.learner = ydf.RandomForestLearner(
            label="target", task=ydf.Task.CLASSIFICATION if job.is_class else ydf.Task.REGRESSION,
            num_trees=job.members, max_depth=-1, min_examples=1, num_candidate_attributes=job.n_drawn,
            winner_take_all=False, compute_oob_performances=False, num_threads=job.jobs, random_seed=1, **more,
        )  # fmt: skip
        self.options: dict[str, Any] = {"num_threads": job.jobs}

    def fit(self, columns: dict[str, Any], y: Any) -> YdfForest:
        self.model = self.learner.train({**columns, "target": y})
        return self

    def predict(self, columns: dict[str, Any]) -> Any:
        answer = self.model.predict_class if self.is_class else self.model.predict
        try:
            return answer(columns, **self.options)
        except ValueError as error:
            if "too many nodes" not in str(error):
                raise
            self.options["use_slow_engine"] = True
            return answer(columns, **self.options)


class Converted:
    """A forest of scikit-learn whose predictions another library computes."""

    def __init__(self, model: Any, job: Job) -> None:
        self.model = model
        self.job = job


class OnnxForest(Converted):
    """ONNX Runtime."""

    def fit(self, X: Any, y: Any) -> OnnxForest:
        import onnxruntime
        from skl2onnx import to_onnx

        self.model.fit(X, y)
        options = {"zipmap": False} if self.job.is_class else {}
        graph = to_onnx(self.model, X[:1].astype("float32"), options={id(self.model): options} if options else None)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = self.job.jobs
        settings.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(graph.SerializeToString(), settings, ["CPUExecutionProvider"])
        return self

    def predict(self, X: Any) -> Any:
        return self.session.run(None, {"X": X.astype("float32")})[0].ravel()


class TreeliteForest(Converted):
    """treelite's general inference."""

    def fit(self, X: Any, y: Any) -> TreeliteForest:
        import treelite

        self.trees = treelite.sklearn.import_model(self.model.fit(X, y))
        return self

    def predict(self, X: Any) -> Any:
        import treelite

        rounded = X.astype("float32").astype("float64")  # as scikit-learn rounds
        answers = treelite.gtil.predict(self.trees, rounded, nthread=self.job.jobs).reshape(len(X), -1)
        return answers.argmax(axis=1) if self.job.is_class else answers[:, 0]
