import { STATISTICS_VERSION } from '../aggregation/statistics-version.ts';
import type { EpisodeJournal } from '../evaluation-store/episode-journal.ts';
import type { ComparisonRequest } from '../orchestrator/compare.ts';
import type { Baseline } from '../orchestrator/comparison.ts';
import type { ComparisonSummary } from '../orchestrator/results/comparison-summary.ts';
import {
  classifyEarlierComparison,
  classifyEarlierEvaluation,
  type ComparisonFacts,
  type EarlierFiles,
  type EarlierRunKind,
  type EvaluationFacts,
} from '../orchestrator/results/earlier-evaluation.ts';
import type { Summary } from '../orchestrator/results/summary.ts';
import type { AllocationDeclaration, SuiteDefinition } from '../orchestrator/suite/suite-definition.ts';
import { type StoredCheckpoint, toIdentity } from '../policy-distribution/stored-checkpoint.ts';

/** A run with a results directory, as far as that decides whether an earlier run there can be resumed. */
export interface RunToKeep<Facts, Document> {
  readonly suite: SuiteDefinition;
  readonly allocation: AllocationDeclaration;
  readonly checkpoints: readonly StoredCheckpoint[];
  readonly facts: Facts;
  readonly classify: (found: EarlierFiles, facts: Facts) => EarlierRunKind<Document>;
}

type OwnFacts = Pick<EvaluationFacts, 'config' | 'modules'>;

export function describeEvaluation(
  own: OwnFacts,
  suite: SuiteDefinition,
  checkpoint: StoredCheckpoint,
): RunToKeep<EvaluationFacts, Summary> {
  const facts = { ...own, suite: { ...suite }, checkpoint: toIdentity(checkpoint), statistics: STATISTICS_VERSION };
  return { suite, allocation: suite.allocation, checkpoints: [checkpoint], facts, classify: classifyEarlierEvaluation };
}

interface Compared extends Pick<ComparisonRequest, 'baseline' | 'baselineUri' | 'terms'> {
  readonly candidates: readonly StoredCheckpoint[];
}

export function describeComparison(
  own: OwnFacts,
  suite: SuiteDefinition,
  { baseline, baselineUri, candidates, terms }: Compared,
): RunToKeep<ComparisonFacts, ComparisonSummary> {
  const facts = {
    ...own,
    suite: { ...suite },
    baseline: describeBaseline(baseline, baselineUri),
    candidates: candidates.map(toIdentity),
    terms,
    statistics: STATISTICS_VERSION,
  };
  const checkpoints = baseline.kind === 'played' ? [baseline.checkpoint, ...candidates] : candidates;
  return { suite, allocation: 'proportional', checkpoints, facts, classify: classifyEarlierComparison };
}

function describeBaseline(baseline: Baseline, uri: string): ComparisonFacts['baseline'] {
  if (baseline.kind === 'played') return toIdentity(baseline.checkpoint);
  return { digest: baseline.digest, recorded: uri, episodes: baseline.outcomes.length };
}

/** Chooses the journal by the arm of a comparison. A baseline that is not played has none. */
export function chooseJournal(journals: readonly EpisodeJournal[], { kind }: Baseline): (arm: number) => EpisodeJournal {
  return (arm) => {
    const journal = journals[kind === 'played' ? arm : arm - 1];
    if (journal) return journal;
    throw new RangeError(`there is no arm ${arm}`);
  };
}
