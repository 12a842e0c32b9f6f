import { countFailed, type Failures } from '../../aggregation/folding/failure-counts.ts';
import { formatCount } from '../../kernel/text/figures.ts';
import type { LoggedErrors } from '../arm/failure-log.ts';
import type { SuiteDefinition } from '../suite/suite-definition.ts';
import type { Ending } from './summary.ts';

/** Counts of one checkpoint's episodes. */
export interface FailedEpisodes {
  readonly failures: Failures;
  /** The number of episodes with a score. */
  readonly resolved: number;
}

/** Whether the run ended without an answer: all episodes failed, and the suite does not accept that as an answer. */
export function isAllFailed(suite: Pick<SuiteDefinition, 'failures'>, ending: Ending, episodes: FailedEpisodes): boolean {
  return ending !== 'interrupted' && ending !== 'failed' && isWithoutAnswer(suite, episodes);
}

/** Whether all episodes so far failed, so that their mean is only that of failure scores, and the suite does not accept that as an answer. */
export function isWithoutAnswer({ failures: policy }: Pick<SuiteDefinition, 'failures'>, { failures, resolved }: FailedEpisodes): boolean {
  return policy !== 'scored' && resolved > 0 && countFailed(failures) === resolved;
}

/** Describes how many failed and with which error, in full. @param whose in words: `episodes`, `episodes of NAME`. */
export function describeAllFailed({ resolved }: FailedEpisodes, { groups, others }: LoggedErrors, whose: string): string {
  const [first] = groups;
  const isSame = groups.length === 1 && others === 0;
  const how = isSame ? `with ${resolved === 1 ? 'this' : 'the same'} error` : 'with several errors, the first being';
  return `all ${resolved} ${whose} that were played failed, ${how} (${first?.cause ?? 'unknown'}):\n${first?.detail ?? ''}`;
}

/** A larger share of failed episodes gets a warning. */
const MANY_FAILED = 0.05;

/** Makes the warning about failed episodes. @param whose as in `describeAllFailed`. */
export function warnOfFailures(
  { failureScores, declaredScores }: Pick<SuiteDefinition, 'failureScores' | 'declaredScores'>,
  { failures, resolved }: FailedEpisodes,
  whose: string,
): string[] {
  const failed = countFailed(failures);
  if (failed === 0) return [];
  const warnings: string[] = [];
  if (failed > MANY_FAILED * resolved)
    warnings.push(
      `${formatPercent(failed / resolved)} of the ${whose} failed (${formatCount(failed)} of ${formatCount(resolved)}), and the mean counts each with the score of a failed episode`,
    );
  const counts = { timeout: failures.timeout, crash: failed - failures.timeout };
  for (const kind of ['timeout', 'crash'] as const)
    if (counts[kind] > 0 && !declaredScores.includes(kind))
      warnings.push(
        `the suite declares no failureScores.${kind}: a failed one counts as ${failureScores[kind]}, the lower bound of the return (${formatCount(counts[kind])} of the ${whose})`,
      );
  return warnings;
}

function formatPercent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
