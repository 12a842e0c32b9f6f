import { getCheckpointName } from '../../../checkpoint-name.ts';
import type { CandidateStatistics, EvidencePoint, Verdict } from '../../../../aggregation/comparison/comparison-statistics.ts';
import type { EpisodeLine } from '../../../http/schemas/episode-schemas.ts';
import type { EvaluationResource } from '../../../http/schemas/evaluation-schemas.ts';
import { getEnds } from './ends.ts';
import { thin } from './thinned.ts';

/** What the page shows of a comparison. */

/** A pair of episodes with the same task and seeds. */
export interface Pair {
  readonly baseline: EpisodeLine | undefined;
  readonly candidate: EpisodeLine;
}

/** One candidate, by its latest figures or by the answer. */
export interface CandidateFigures {
  /** Its position among the checkpoints: 1, 2, …; 0 is the baseline. */
  readonly arm: number;
  readonly name: string;
  readonly pairs: number;
  readonly difference: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly verdict: Verdict | null;
  /** It is set once there is an answer. */
  readonly statistics: CandidateStatistics | undefined;
}

export interface ComparedFigures {
  readonly candidates: readonly CandidateFigures[];
  /** Differences up to it do not matter; null while it is not known here. */
  readonly margin: number | null;
}

/** Answers of the own server are not validated: page and server have one version. */
interface ComparisonAnswer {
  readonly schema: 'muster.comparison/1';
  readonly official: { readonly margin: number; readonly candidates: readonly CandidateStatistics[] };
}

export function getComparedFigures(evaluation: EvaluationResource): ComparedFigures {
  const { summary, running, checkpoints } = evaluation;
  const names = checkpoints.map(getCheckpointName);
  if (isComparisonAnswer(summary))
    return {
      margin: summary.official.margin,
      candidates: summary.official.candidates.map((statistics, at) => ({
        arm: at + 1,
        name: names[at + 1] ?? statistics.name,
        pairs: statistics.pairs,
        difference: statistics.difference,
        low: statistics.interval?.low ?? null,
        high: statistics.interval?.high ?? null,
        verdict: statistics.verdict,
        statistics,
      })),
    };
  if (running?.kind !== 'comparison') return { margin: null, candidates: [] };
  return {
    margin: null,
    candidates: running.candidates.map((figures, at) => {
      const { digest, pairs, difference, verdict } = figures;
      const [low, high] = getEnds(difference, figures) ?? [null, null];
      return { arm: at + 1, name: names[at + 1] ?? digest, pairs, difference, low, high, verdict, statistics: undefined };
    }),
  };
}

/** Courses of differences while a comparison is played, by arm: a point for each report. */
export type DifferenceCourses = ReadonlyMap<number, readonly Omit<EvidencePoint, 'promote' | 'regress'>[]>;

/** Extends the courses by one more report. Figures from before a restart are computed again. */
export function extendCourses(courses: DifferenceCourses, running: EvaluationResource['running']): DifferenceCourses {
  if (running?.kind !== 'comparison') return courses;
  const extended = new Map(courses);
  for (const [at, figures] of running.candidates.entries()) {
    const { pairs, difference } = figures;
    const ends = getEnds(difference, figures);
    if (!ends) continue;
    const before = (courses.get(at + 1) ?? []).filter((point) => point.pairs < pairs);
    extended.set(at + 1, thin([...before, { pairs, difference, low: ends[0], high: ends[1] }]));
  }
  return extended;
}

function isComparisonAnswer(summary: unknown): summary is ComparisonAnswer {
  return typeof summary === 'object' && summary !== null && Reflect.get(summary, 'schema') === 'muster.comparison/1';
}
