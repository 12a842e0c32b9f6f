import type { OfficialStatistics } from '../../aggregation/results/statistics.ts';
import type { StoredCheckpoint } from '../../policy-distribution/stored-checkpoint.ts';
import type { Checkpoint } from '../../policy-distribution/checkpoint.ts';
import { isWithoutAnswer, warnOfFailures } from './all-failed.ts';
import { runWarnings, type RunFacts } from '../facts/run-facts.ts';
import type { SuiteDefinition } from '../suite/suite-definition.ts';
import type { CheckpointFacts, Ending, Summary } from './summary.ts';

export interface SummaryParts {
  readonly suite: SuiteDefinition;
  readonly checkpoint: StoredCheckpoint;
  readonly checkpointUri: string;
  readonly official: OfficialStatistics;
  readonly ending: Ending;
  readonly facts: RunFacts;
}

export function summarise({ suite, checkpoint, checkpointUri, official, ending, facts }: SummaryParts): Summary {
  const allFailed = isWithoutAnswer(suite, official);
  return {
    schema: 'muster.summary/1',
    official: {
      suite: { name: suite.name, digest: suite.digest },
      checkpoint: { digest: checkpoint.digest },
      stop: suite.stop,
      allocation: suite.allocation,
      play: suite.play,
      budgetEpisodes: suite.budget.episodes ?? null,
      ...official,
    },
    ended: ending,
    partial: ending !== 'rule',
    ...(allFailed ? { allFailed } : {}),
    // When every episode failed there is no mean that failures could have changed.
    warnings: [...(allFailed ? [] : warnOfFailures(suite, official, 'episodes')), ...runWarnings(ending, facts, suite)],
    checkpoint: toCheckpointFacts(checkpoint, checkpointUri),
    run: facts,
  };
}

export function toCheckpointFacts(checkpoint: Pick<Checkpoint, 'files' | 'labels'>, uri: string): CheckpointFacts {
  return {
    uri,
    files: checkpoint.files.length,
    bytes: checkpoint.files.reduce((sum, { size }) => sum + size, 0),
    ...checkpoint.labels,
  };
}
