"""Section 5.2: the loop. Step, write down, validate, save; stop when told to; go on as if nothing had happened.

A run is a pure function of its configuration and its data. What a checkpoint holds beside weights and optimiser is a
handful of numbers (`setup.LoopState`); everything else is computed anew from the step.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from dataclasses import asdict, replace

import torch

from heedful.errors import CheckpointError, TrainingError
from heedful.runs.checkpoints import Checkpoint, load_weights, prune, scheduled_entries, write_average, write_checkpoint
from heedful.runs.descriptions import Best, Status, read_status, write_status
from heedful.runs.folder import locked_run
from heedful.runs.metrics import MetricLine, SkippedLine, TrainLine, ValidationWall, append_line
from heedful.training import events
from heedful.training.batches import StepBatch, prefetched
from heedful.training.distributed import agree, join, leave, sum_over_processes
from heedful.training.events import Reporter, stop_signals
from heedful.training.flops import batch_flops, peak_flops
from heedful.training.machine import device_name, memory_told
from heedful.training.metrics import Clock, Results, StepResult, SumsSinceLine, Translate
from heedful.training.optimizer import load_optimizer, optimizer_tensors
from heedful.training.setup import (
    Foreseen,
    LoopState,
    Prepared,
    Task,
    claim_folder,
    loop_state,
    prepared_run,
    training_device,
)

_AGREE_EVERY = 20
"""Steps after which several processes ask each other whether to stop or save; one process asks itself each step."""
_STOPPED = "stopped by a signal; --resume goes on"
_LOOKED_BACK, _USED = 0.2, 0.99
"""Shares of the minutes: by the steps of so many the others are foreseen, and so many of what is left are planned."""


def train(task: Task, *, report: Reporter, translate: Translate) -> LoopState:
    """Run a task to its end, or until a signal stops it."""
    device = training_device(task.device)
    world = join(device)
    if not world.is_first:
        report = lambda _: None  # noqa: E731 - the others say nothing
    try:
        with memory_told(task.config.training, then="or take a smaller model"):
            prepared = prepared_run(task, device=device, world=world, translate=translate, report=report)
        # Only then, so that a run that cannot begin leaves no folder behind, and one that is cut finer says so in it.
        with locked_run(task.run) if world.is_first else contextlib.nullcontext():
            checkpoint = claim_folder(prepared, report=report)
            with stop_signals() as stop:
                return Loop(prepared, checkpoint, report=report, stop=stop).run()
    finally:
        leave(world)


class Loop:
    """A run in progress."""

    def __init__(
        self, prepared: Prepared, checkpoint: Checkpoint | None, *, report: Reporter, stop: threading.Event
    ) -> None:
        """``checkpoint``: what the run goes on from; None at its beginning."""
        self._task, self._trainer, self._batches = prepared.task, prepared.trainer, prepared.batches
        self._validation, self._report, self._stop = prepared.validation, report, stop
        self._training = self._task.config.training
        self._world, self._device = self._trainer.world, self._trainer.precision.device
        self._progress = loop_state(checkpoint) if checkpoint else LoopState()
        self._results = Results()
        self._clock = Clock(self._progress.minutes)
        self._trainer.last_step = self._last_step
        self._marks = deque([(self._progress.step, self._progress.minutes)])
        name = device_name(self._device)
        self._peak = peak_flops(name)
        self._environment = {
            "torch": torch.__version__,
            "device": name,
            "threads": torch.get_num_threads(),
            "processes": self._world.size,
        }
        if checkpoint is not None:
            model = self._trainer.model
            load_weights(model, checkpoint.model, where=f"the checkpoint of step {checkpoint.step}")
            load_optimizer(self._trainer.optimizer, checkpoint.optimizer)
            self._announce_changes(checkpoint.state.get("environment"))

    def run(self) -> LoopState:
        """Every step from where the run stands to its end."""
        over = self._over(time_is_over=0 < self._training.minutes <= self._progress.minutes)
        if over and self._is_finished():
            took = self._progress.minutes
            self._report(events.Ended("finished", over, self._progress.step, [], self._task.run, took))
            return self._progress
        without_best = self._progress.validations_without_best
        self._report(events.Started(self._describe(), self._progress.step, self._training, without_best))
        state, why, averaged = "failed", "", []
        try:
            with memory_told(self._training, then="and --resume; the last checkpoint is intact"):
                ended, reason = ("finished", over) if over else self._steps()
            # Before the status says so: a run that is called finished has everything, and is not touched again.
            averaged = self._averaged() if ended == "finished" else []
            state, why = ended, reason
        except KeyboardInterrupt:
            state, why = "interrupted", _STOPPED
            raise
        except Exception as error:
            why = str(error) or type(error).__name__
            raise
        finally:
            self._status(state, why)
        self._report(events.Ended(state, why, self._progress.step, averaged, self._task.run, self._clock.minutes()))
        return self._progress

    def _over(self, *, time_is_over: bool) -> str | None:
        """Why there is nothing left to do; None where there is."""
        progress, training = self._progress, self._training
        if progress.step >= self._last_step:
            within = f" that fit into {training.minutes:g} minutes" if self._last_step < training.steps else ""
            return f"all {self._last_step:,} steps{within} are done"
        if 0 < training.patience <= progress.validations_without_best:
            return f"{training.patience} validations in a row brought nothing better"
        if time_is_over:
            return f"{training.minutes:g} minutes are over"
        return None

    def _is_finished(self) -> bool:
        """Whether the run folder holds everything that a finished run leaves; the other processes write nothing."""
        if not self._world.is_first:
            return True
        try:
            status = read_status(self._task.run)
            return (status.state, status.step) == ("finished", self._progress.step)
        except CheckpointError:  # it is written anew
            return False

    def _steps(self) -> tuple[str, str]:
        """Take steps until something ends the run; returns its state and why it ended."""
        if self._trainer.captures:
            self._trainer.accelerate()
        self._status("running", "")
        source = prefetched(self._batches, first=self._progress.step + 1, last=self._training.steps)
        with contextlib.closing(source) as batches:
            for batch in batches:
                self._results.add(batch, self._trainer.step(batch))
                self._progress.step = batch.step
                for result in self._results.arrived():
                    self._take(result)
                if ended := self._between_steps():
                    return ended
        raise AssertionError("the last step ends the run")

    def _between_steps(self) -> tuple[str, str] | None:
        """Everything that happens after a step; returns how the run ends, if it does."""
        step, training = self._progress.step, self._training
        last = step == self._last_step
        stop, save, over = self._decisions(last)
        log = step % training.log_steps == 0 or last
        validate = self._validation is not None and (step % training.validation_steps == 0 or last)
        scheduled = save or last or over or (training.checkpoint_steps > 0 and step % training.checkpoint_steps == 0)
        if log or validate or scheduled or stop:
            for result in self._results.arrived(all_of_them=True):
                self._take(result)
        if log:
            self._write_line()
        is_best = self._validate() if validate else False
        out_of_patience = 0 < training.patience <= self._progress.validations_without_best
        if scheduled and not last:
            self._foresee_end()
        if scheduled or is_best or stop or out_of_patience:
            self._save(scheduled=scheduled or out_of_patience)
        if why := self._over(time_is_over=over):
            return "finished", why
        return ("interrupted", _STOPPED) if stop else None

    @property
    def _last_step(self) -> int:
        """The last of all, or the last for which there will be time; not if somebody has given the run more of it."""
        foreseen, training = self._progress.foreseen, self._training
        is_so = foreseen is not None and (foreseen.steps, foreseen.minutes) == (training.steps, training.minutes)
        return foreseen.last_step if foreseen and is_so else training.steps

    def _foresee_end(self) -> None:
        """Where minutes end a run whose rate falls in a straight line, let the line end with them.

        Only at checkpoints, which keep it, and from the speed of the last steps: the machine may have slowed down.
        """
        training, now = self._training, (self._progress.step, self._clock.minutes())
        if training.decay != "linear" or not training.minutes:
            return
        self._marks.append(now)
        while len(self._marks) > 2 and now[1] - self._marks[1][1] > _LOOKED_BACK * training.minutes:
            self._marks.popleft()
        (step, minutes), left = self._marks[0], _USED * (training.minutes - now[1])
        steps = int((now[0] - step) * left / max(now[1] - minutes, 1e-9))
        last = min(training.steps, now[0] + max(1, steps)) if self._world.is_first else 0
        last = int(sum_over_processes(torch.tensor(last, device=self._device), self._world))
        self._progress.foreseen = Foreseen(last, training.steps, training.minutes)
        self._trainer.last_step = last

    def _decisions(self, last: bool) -> tuple[bool, bool, bool]:
        """Whether to stop, to save because it is time, and to end because time is over: the same in all processes."""
        if self._world.size > 1 and self._progress.step % _AGREE_EVERY and not last:
            return False, False, False
        save = 0 < 60 * self._training.checkpoint_minutes <= time.monotonic() - self._clock.saved
        over = 0 < self._training.minutes <= self._clock.minutes()
        flags = agree(self._world, self._device, any_stop=self._stop.is_set(), save=save, over=over)
        return flags["any_stop"], flags["save"], flags["over"]

    def _take(self, result: StepResult) -> None:
        """Count a step's numbers, and see to a step that was skipped."""
        progress = self._progress
        progress.interval.add(result)
        self._clock.count(tokens=result.batch.target_tokens, flops=self._flops(result.batch))
        if not result.skipped:
            progress.skipped_in_a_row = 0
            self._report(events.Stepped(self._line(result.batch.step), is_written=False))
            return
        progress.skipped_in_a_row += 1
        origins = (self._batches.corpus.origin(int(pair)) for pair in result.batch.pairs)
        lines = tuple(f"{text}:{line}" for text, line in origins)
        text = f"step {result.batch.step} was skipped: its loss or gradient is not finite"
        self._append(SkippedLine(result.batch.step, lines))
        self._report(events.Warned(f"{text} ({len(lines)} pairs, among them {', '.join(lines[:3])})"))
        if progress.skipped_in_a_row >= self._training.max_skipped:
            raise TrainingError(
                f"{progress.skipped_in_a_row} steps in a row had no finite loss and gradient; {text}. The last "
                "checkpoint is intact. A lower training.learning_rate_scale or a longer training.warmup_steps helps; "
                "metrics.jsonl names the lines of each batch"
            )

    def _line(self, step: int) -> TrainLine:
        wall = self._clock.wall(self._device, peak=self._peak)
        return self._progress.interval.line(step, learning_rate=self._trainer.rate(step), wall=wall)

    def _write_line(self) -> None:
        line = self._line(self._progress.step)
        self._clock.new_line()
        self._progress.interval = SumsSinceLine()
        self._append(line)
        self._status("running", "")
        self._report(events.Stepped(line, is_written=True))

    def _validate(self) -> bool:
        """Measure, write down, and say whether it is the best so far."""
        assert self._validation is not None, "asked only where there is validation data"
        self._report(events.Validating(self._progress.step))
        with self._clock.paused():
            line = self._validation.measure(self._trainer, step=self._progress.step)
        line = replace(line, wall=ValidationWall(self._clock.last_pause))
        metric: str = self._training.best_by
        value = line.bleu if metric == "bleu" else line.loss
        # BLEU is known to the first process alone.
        is_best = agree(self._world, self._device, best=_better(metric, value, self._progress.best))["best"]
        if is_best:
            self._progress.best = Best(self._progress.step, metric, math.nan if value is None else value)
        self._progress.validations_without_best = 0 if is_best else self._progress.validations_without_best + 1
        self._append(line)
        self._report(events.Validated(line, is_best))
        return is_best

    def _save(self, *, scheduled: bool) -> None:
        self._progress.minutes = self._clock.minutes()
        if scheduled:
            self._clock.saved = time.monotonic()
        if not self._world.is_first:
            return
        with self._clock.paused():
            model, best = self._trainer.model, self._progress.best
            state = {"progress": asdict(self._progress), "config": asdict(self._task.config)}
            state["environment"] = self._environment
            weights, moments = (
                {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
                for tensors in (model.state_dict(), optimizer_tensors(self._trainer.optimizer))
            )
            checkpoint = Checkpoint(self._progress.step, weights, moments, state, scheduled)
            write_checkpoint(self._task.run, checkpoint)
            keep = max(self._training.keep_last, self._training.average_last)
            prune(self._task.run, keep=keep, best=best.step if best else None)
        self._report(events.Saved(self._progress.step))

    def _averaged(self) -> list[int]:
        """The final model of section 6.1, where there are checkpoints enough to average."""
        if not self._world.is_first:
            return []
        last = min(self._training.average_last, len(scheduled_entries(self._task.run)))
        return write_average(self._task.run, last=last) if last > 1 else []

    def _flops(self, batch: StepBatch) -> float:
        """Each process's share of a step's operations, where the device's peak is known to compare them with."""
        if not self._peak:
            return 0.0
        model, lengths = self._trainer.model, self._batches.corpus.lengths.of(batch.pairs)
        return batch_flops(model.config, vocab_size=model.embedding.weight.size(0), lengths=lengths) / self._world.size

    def _append(self, line: MetricLine) -> None:
        if self._world.is_first:
            append_line(self._task.run, line)

    def _status(self, state: str, why: str) -> None:
        if self._world.is_first:
            minutes = round(self._clock.minutes(), 3)
            status = Status(state, self._progress.step, self._last_step, self._progress.best, why, minutes)
            write_status(self._task.run, status)

    def _announce_changes(self, before: object) -> None:
        """Name what may change the last digits of a resumed run."""
        old = before if isinstance(before, dict) else {}
        changed = [f"{name} {old.get(name)} → {now}" for name, now in self._environment.items() if old.get(name) != now]
        if changed:
            text = "the machine is not the one of the checkpoint, so the last digits may differ: " + ", ".join(changed)
            self._report(events.Warned(text))

    def _describe(self) -> dict[str, str]:
        model, schedule = self._trainer.model, self._batches.schedule
        parameters = sum(parameter.numel() for parameter in model.parameters())
        tokens = f"{self._training.source_tokens:,} source and {self._training.target_tokens:,} target tokens"
        micro = f" in {self._training.micro_batches} micro-batches" if self._training.micro_batches > 1 else ""
        return {
            "model": f"{parameters:,} parameters",
            "attention": str(model.attention),
            "device": f"{self._environment['device']}, {'bfloat16' if self._trainer.precision.half else 'float32'}"
            + (f", {self._world.size} processes" if self._world.size > 1 else ""),
            "data": f"{len(self._batches.corpus):,} pairs, {schedule.steps_per_epoch:,} steps an epoch",
            "batch": f"at most {tokens}{micro}",
        }


def _better(metric: str, value: float | None, best: Best | None) -> bool:
    """Whether a validation is the best so far; one that is not a number never is."""
    if value is None or not math.isfinite(value):
        return False
    if best is None or best.metric != metric or not math.isfinite(best.value):
        return True
    return value < best.value if metric == "loss" else value > best.value
