import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Summary } from '../../orchestrator/results/summary.ts';
import type { Standing } from '../../service/watching/watch-record.ts';
import { collect } from './flag-values.ts';

/** Flags of the commands whose results can be logged. */
export interface LogFlags {
  /** A sink's name, or `name:directory`. */
  readonly log?: readonly string[];
}

const SINKS = ['tensorboard', 'wandb', 'mlflow', 'aim', 'csv'];
/** Sinks of the Python package that take a directory; others store their logs elsewhere. */
const WITH_DIRECTORY = new Set(['tensorboard', 'wandb', 'csv']);

export function addLogFlag(command: Command): Command {
  return command.addOption(
    new Option(
      '--log <sink>',
      'log mean, interval, episodes and verdict: tensorboard, wandb, mlflow, aim or csv; tensorboard:DIR, wandb:DIR or csv:DIR say where (default: muster-runs); again for further ones',
    ).argParser((value: string, before: readonly string[] | undefined) => collect(parseSink(value), before)),
  );
}

function parseSink(value: string): string {
  const [name = '', directory] = value.split(/:(.*)/s);
  if (!SINKS.includes(name)) throw new InvalidArgumentError(`expected one of ${SINKS.join(', ')}.`);
  if (directory === '') throw new InvalidArgumentError(`expected a directory after "${name}:".`);
  if (directory !== undefined && !WITH_DIRECTORY.has(name))
    throw new InvalidArgumentError(`${name} takes no directory; its own settings name the directory of runs.`);
  return value;
}

/**
 * Reads the training step of a checkpoint: the last whole number in its name, as in `step-4096.safetensors`.
 *
 * @param place is used where the name has no number.
 */
export function readStep(name: string, place: number): number {
  const base = name
    .replace(/\/+$/, '')
    .replace(/^.*\//, '')
    .replace(/\.\w+$/, '');
  const last = base.match(/\d+/g)?.at(-1);
  const step = Number(last ?? Number.NaN);
  return Number.isSafeInteger(step) ? step : place;
}

/** Returns the logged fields of a result, without unknown values. @param standing against the best checkpoint before it. */
export function toFigures({ mean, interval, episodes }: LoggedResult, standing: Standing): Record<string, number> {
  return {
    ...(mean === null ? {} : { mean }),
    ...(interval === null ? {} : { low: interval.low, high: interval.high, half_width: (interval.high - interval.low) / 2 }),
    episodes,
    better: Number(standing === 'first' || standing === 'better'),
    regress: Number(standing === 'worse'),
  };
}

type LoggedResult = Pick<Summary['official'], 'mean' | 'interval' | 'episodes'>;
