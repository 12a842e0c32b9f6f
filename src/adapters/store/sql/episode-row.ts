import type { StoredEpisode } from '../../../evaluation-store/episode-log.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { parseEpisodeIndex } from '../../../kernel/ids.ts';
import { FAILURE_CAUSES, type FailureCause, type Outcome } from '../../../kernel/outcome.ts';
import { readNumber, readOptional, readText } from './schema/columns.ts';
import type { SandboxUsage } from '../../../kernel/sandbox-usage.ts';
import type { Row } from './schema/database.ts';
import type { Value } from './schema/statement.ts';

/** Optional fields. As JSON, which can hold any text: a sandbox's output may be invalid Unicode, or contain U+0000. */
interface Extra {
  readonly metrics?: Readonly<Record<string, number>>;
  readonly detail?: string;
  readonly log?: string;
  /** Seconds, bytes, processes: many have the same, and it is short. */
  readonly used?: Used;
}

type Used = readonly [number | null, number | null, number | null];

function toUsed({ cpuSeconds, peakMemoryBytes, processes }: SandboxUsage): Used {
  return [cpuSeconds ?? null, peakMemoryBytes ?? null, processes ?? null];
}

function toUsage([cpuSeconds, peakMemoryBytes, processes]: Used): SandboxUsage {
  return {
    ...(cpuSeconds === null ? {} : { cpuSeconds }),
    ...(peakMemoryBytes === null ? {} : { peakMemoryBytes }),
    ...(processes === null ? {} : { processes }),
  };
}

/** Returns the columns episode, task, outcome, result, length, seconds, extra. An outcome is `completed`, `lost` or the cause of a failure. */
export function toEpisodeRow({ index, task, outcome, seconds, log, usage }: StoredEpisode): readonly Value[] {
  const beside = { ...(log === undefined ? {} : { log }), ...(usage && { used: toUsed(usage) }) };
  switch (outcome.kind) {
    case 'completed': {
      const { metrics } = outcome;
      const extra = isEmpty(metrics) ? beside : { metrics, ...beside };
      return [index, task, 'completed', outcome.return, outcome.length, seconds, formatExtra(extra)];
    }
    case 'failed':
      return [index, task, outcome.cause, null, null, seconds, formatExtra({ detail: outcome.detail, ...beside })];
    case 'lost':
      return [index, task, 'lost', null, null, seconds, formatExtra({ detail: outcome.detail, ...beside })];
  }
}

/** @throws InfrastructureError `store.unreadable` when it is no row that `toEpisodeRow` made. */
export function readEpisodeRow(row: Row): StoredEpisode {
  const extra = parseExtra(row);
  return {
    index: parseEpisodeIndex(readNumber(row, 'episode')),
    task: readNumber(row, 'task'),
    outcome: readOutcome(row, extra),
    seconds: readNumber(row, 'seconds'),
    ...(extra.log === undefined ? {} : { log: extra.log }),
    ...(extra.used && { usage: toUsage(extra.used) }),
  };
}

const NO_METRICS = {};
const NOTHING: Extra = {};

function readOutcome(row: Row, { metrics = NO_METRICS, detail = '' }: Extra): Outcome {
  const outcome = readText(row, 'outcome');
  if (outcome === 'completed') return { kind: 'completed', return: readNumber(row, 'result'), length: readNumber(row, 'length'), metrics };
  if (outcome === 'lost') return { kind: 'lost', detail };
  if (isCause(outcome)) return { kind: 'failed', cause: outcome, detail };
  throw new InfrastructureError(
    'store.unreadable',
    `the column outcome holds "${outcome}", which is not an outcome that this version of Muster knows`,
  );
}

function isCause(text: string): text is FailureCause {
  return FAILURE_CAUSES.some((cause) => cause === text);
}

function parseExtra(row: Row): Extra {
  const text = readOptional(row, 'extra', readText);
  if (text === undefined) return NOTHING;
  // `toEpisodeRow` wrote it: validating every field of a million episodes would cost more than reading them.
  const extra: Extra = JSON.parse(text);
  return extra;
}

function formatExtra(extra: Extra): string | null {
  return isEmpty(extra) ? null : JSON.stringify(extra);
}

function isEmpty(record: object): boolean {
  for (const key in record) if (Object.hasOwn(record, key)) return false;
  return true;
}
