"""A search in trackers of experiments, while it runs: MLflow, and TensorBoard."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fgnas.engine.contracts import Watcher
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.exchange.trackers import TRACKERS
from fgnas.extras import require

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from torch.utils.tensorboard.writer import SummaryWriter

EXTRA = "tracking"
"""The extra that installs what is missing."""
AT_ONCE = 1000
"""Values that MLflow takes in one call."""
ID = "mlflow-run.txt"
"""The file of a run's folder that names the run of MLflow; a continued search reports to the same one."""
FILES = ("config.json", "leaders.json", "best.json", "cheapest.json", "pareto.json")


class Values:
    """The values of trials by name: scores, costs, and the best feasible score so far."""

    def __init__(self, ranking: str) -> None:
        self.ranking, self.best = ranking, float("-inf")

    @classmethod
    def behind(cls, trials: Sequence[Trial], store: RunStore) -> Values:
        """Those of the trials that follow these in a run."""
        found = cls(store.config()["scores"][0]["name"])
        for trial in trials:
            found.of(trial)
        return found

    def of(self, trial: Trial) -> dict[str, float]:
        """Those of one trial, which follows those that were asked for before."""
        if trial.feasible:
            self.best = max(self.best, trial.scores[self.ranking])
        values = {**trial.scores, **trial.costs}
        return values | ({f"best_{self.ranking}": self.best} if trial.feasible else {})


def delivered(best: dict[str, Any]) -> dict[str, float]:
    """The accuracies of the delivered model by name, such as "quantised_test"."""
    return {f"{kind}_{split}": value for kind, splits in best["delivered"].items() for split, value in splits.items()}


class MLflow(Watcher):
    """A run of MLflow for a search: options as parameters, each trial as a step of its metrics, results as artifacts.

    It goes to the server and the experiment that MLflow's own settings name, such as MLFLOW_TRACKING_URI.
    """

    def __init__(self) -> None:
        require("mlflow", EXTRA)
        self.client: MlflowClient
        self.run = ""

    def begin(self, store: RunStore, trials: Sequence[Trial]) -> None:
        """Start a run, or continue the one of a continued search."""
        import mlflow

        self.client, config, place = mlflow.MlflowClient(), store.config(), store.folder / ID
        self.values = Values.behind(trials, store)
        if place.is_file():
            self.run = place.read_text(encoding="utf-8").strip()
            self.client.update_run(self.run, "RUNNING")
            return
        name = mlflow.environment_variables.MLFLOW_EXPERIMENT_NAME.get() or "fgnas"
        found = self.client.get_experiment_by_name(name)
        experiment = self.client.create_experiment(name) if found is None else found.experiment_id
        self.run = self.client.create_run(experiment, run_name=store.name).info.run_id
        given = {"system": config["system"], **config["options"]}
        for name, value in given.items():
            if value is not None:
                self.client.log_param(self.run, name, value)
        place.write_text(f"{self.run}\n", encoding="utf-8")
        self.see(trials)

    def see(self, trials: Sequence[Trial]) -> None:
        """Log the values of trials."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        found = [Metric(name, value, now, one.trial) for one in trials for name, value in self.values.of(one).items()]
        for first in range(0, len(found), AT_ONCE):
            self.client.log_batch(self.run, metrics=found[first : first + AT_ONCE])

    def end(self, store: RunStore, best: dict[str, Any]) -> None:
        """Log what was delivered, and end the run."""
        for name, value in delivered(best).items():
            self.client.log_metric(self.run, name, value)
        self.client.set_tag(self.run, "design_hash", best["design_hash"])
        for name in FILES:
            if (store.folder / name).is_file():
                self.client.log_artifact(self.run, str(store.folder / name))
        self.client.set_terminated(self.run)


class TensorBoard(Watcher):
    """Curves of a search in the folder `tensorboard` of its run: each trial is a step."""

    def __init__(self) -> None:
        require("tensorboard", EXTRA)

    def begin(self, store: RunStore, trials: Sequence[Trial]) -> None:
        """Open the folder; steps that a killed search wrote behind these trials are hidden."""
        from torch.utils.tensorboard.writer import SummaryWriter

        self.values = Values.behind(trials, store)
        self.writer: SummaryWriter = SummaryWriter(str(store.folder / "tensorboard"), purge_step=len(trials))

    def see(self, trials: Sequence[Trial]) -> None:
        """Add the values of trials."""
        for trial in trials:
            for name, value in self.values.of(trial).items():
                kind = "costs" if name in trial.costs else "scores"
                self.writer.add_scalar(f"{kind}/{name}", value, trial.trial)
        self.writer.flush()

    def end(self, store: RunStore, best: dict[str, Any]) -> None:
        """Add what was delivered, and close the folder."""
        for name, value in delivered(best).items():
            self.writer.add_scalar(f"delivered/{name}", value, best["trial"])
        self.writer.close()


def tracker(name: str) -> Watcher:
    """A tracker by name. Raises UserError for an unknown one, and where its package is missing."""
    if name not in TRACKERS:
        raise UserError(f"unknown tracker {name!r}; known: {', '.join(TRACKERS)}")
    made: Watcher = globals()[TRACKERS[name]]()
    return made
