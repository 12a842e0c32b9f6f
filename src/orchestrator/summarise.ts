import type { PoolState, PoolTotals } from '../pool/pool-state.ts';
import type { StoredCheckpoint } from '../policy-distribution/checkpoint-store.ts';
import type { Evaluation } from './evaluation.ts';
import type { Timings } from './progress.ts';
import type { SuiteDefinition } from './suite-definition.ts';
import type { Ending, Summary } from './summary.ts';

export interface SummaryParts {
  readonly suite: SuiteDefinition;
  readonly checkpoint: StoredCheckpoint;
  readonly checkpointUri: string;
  readonly evaluation: Evaluation;
  readonly ending: Ending;
  readonly timings: Timings;
  readonly provider: string;
  readonly sandboxesMax: number;
  readonly pool: PoolState;
  /** The pool's totals when the evaluation began: it may have served others before. */
  readonly poolBefore: PoolTotals;
}

export function summarise(parts: SummaryParts): Summary {
  const { suite, checkpoint, evaluation, ending } = parts;
  return {
    schema: 'muster.summary/1',
    official: {
      suite: { name: suite.name, digest: suite.digest },
      checkpoint: { digest: checkpoint.digest },
      stop: suite.stop,
      budgetEpisodes: suite.budget.episodes ?? null,
      ...evaluation.official(),
    },
    ended: ending,
    partial: ending !== 'rule',
    warnings: warningsOf(parts),
    checkpoint: {
      uri: parts.checkpointUri,
      files: checkpoint.files.length,
      bytes: checkpoint.files.reduce((sum, { size }) => sum + size, 0),
      ...checkpoint.labels,
    },
    run: runFacts(parts),
  };
}

function runFacts({ evaluation, timings, suite, provider, sandboxesMax, pool, poolBefore }: SummaryParts): Summary['run'] {
  return {
    startedAt: timings.startedAt.toISOString(),
    seconds: timings.seconds,
    ...(timings.firstEpisodeSeconds === undefined ? {} : { firstEpisodeSeconds: timings.firstEpisodeSeconds }),
    episodesPerSecond: timings.episodesPerSecond,
    outcomes: timings.outcomes,
    surplus: evaluation.surplus,
    retried: evaluation.dispatcher.retried,
    duplicated: evaluation.dispatcher.duplicated,
    nonDeterministic: [...evaluation.differing],
    pool: {
      provider,
      template: suite.template,
      mechanism: pool.isolation?.mechanism ?? 'unknown',
      limits: pool.isolation?.limits ?? {},
      sandboxesMax,
      created: pool.totals.created - poolBefore.created,
      destroyed: pool.totals.destroyed - poolBefore.destroyed,
      died: pool.totals.died - poolBefore.died,
      failed: pool.totals.failed - poolBefore.failed,
      swept: pool.swept ?? 0,
    },
  };
}

function warningsOf({ evaluation, ending, pool }: SummaryParts): string[] {
  const warnings: string[] = [];
  if (ending === 'seconds')
    warnings.push('the budget of seconds ended it: how many episodes it holds depends on the speed of this machine');
  if (ending === 'interrupted') warnings.push('it was interrupted: the figures are those of the episodes folded by then');
  if (ending === 'failed') warnings.push('the infrastructure gave out: the figures are those of the episodes folded by then');
  const differing = evaluation.differing.length;
  if (differing > 0)
    warnings.push(
      `not deterministic: ${differing} episodes that were played twice came out differently; results may change from run to run`,
    );
  const unenforced = Object.entries(pool.isolation?.limits ?? {}).filter(([, { scope }]) => scope === 'none');
  if (unenforced.length > 0)
    warnings.push(`not enforced on this machine: ${unenforced.map(([name]) => name).join(', ')}; see "muster doctor"`);
  return warnings;
}
