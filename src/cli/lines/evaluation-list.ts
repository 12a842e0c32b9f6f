import { getCheckpointName } from '../../faces/checkpoint-name.ts';
import { isComparisonSummary, isSummary } from '../../faces/client/answer-of.ts';
import type { EvaluationItem, EvaluationResource } from '../../faces/http/schemas/evaluation-schemas.ts';
import { formatAge, formatFigure } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { alignColumns } from './columns.ts';

const HEADINGS = ['id', 'checkpoint', 'suite', 'state', 'answer', 'age'] as const;

/** An evaluation in a list, with its summary where that says more than the latest figures. */
export type Listed = EvaluationItem & Pick<Partial<EvaluationResource>, 'summary'>;

/** Formats evaluations and comparisons as a table. @param now the time from which ages are counted. @param filters flags that chose the items. */
export function formatEvaluationList(items: readonly Listed[], now: Date, filters: readonly string[] = []): readonly string[] {
  if (items.length === 0) return [filters.length === 0 ? 'there are no evaluations' : `no evaluation fits ${filters.join(' and ')}`];
  return alignColumns([HEADINGS, ...items.map((item) => getCells(item, now))]);
}

/** Whether only the summary has the item's answer: it was known when the evaluation was submitted, or it is a comparison. */
export function isAnsweredElsewhere({ state, kind, running }: EvaluationItem): boolean {
  return state === 'finished' && (running === null || kind === 'comparison');
}

function getCells(item: Listed, now: Date): readonly string[] {
  const { id, suite, state, createdAt, cancelRequestedAt } = item;
  const isOpen = state === 'waiting' || state === 'running';
  return [
    id,
    formatCheckpoints(item),
    escapeUnprintableLine(suite),
    isOpen && cancelRequestedAt !== null ? 'cancelling' : state,
    getAnswer(item),
    formatAge(now.getTime() - Date.parse(createdAt)),
  ];
}

export function formatCheckpoints({ checkpoints, run, version }: EvaluationItem): string {
  const named = checkpoints.filter(({ part }) => part !== 'baseline').map(getCheckpointName);
  const baseline = checkpoints.find(({ part }) => part === 'baseline');
  const label = run === null && version === null ? '' : ` (${run ?? ''}${version === null ? '' : `@${version}`})`;
  const [first = '', ...more] = named;
  const others = more.length === 0 ? '' : ` and ${more.length} more`;
  return escapeUnprintableLine(`${first}${others}${baseline === undefined ? '' : ` against ${getCheckpointName(baseline)}`}${label}`);
}

function getAnswer({ state, summary, running }: Listed): string {
  if (state === 'failed') return '';
  if (isSummary(summary)) {
    const { mean, interval } = summary.official;
    return mean === null || summary.allFailed === true
      ? 'no mean'
      : formatMean(mean, interval === null ? null : (interval.high - interval.low) / 2);
  }
  if (isComparisonSummary(summary)) return summary.verdict;
  if (running === null) return '';
  if (running.kind === 'evaluation') return running.mean === null ? '' : formatMean(running.mean, running.halfWidth);
  const decided = running.candidates.filter(({ verdict }) => verdict !== null).length;
  return `${decided} of ${running.candidates.length} decided`;
}

function formatMean(mean: number, halfWidth: number | null): string {
  if (halfWidth === null) return formatFigure(mean, Math.abs(mean));
  return `${formatFigure(mean, halfWidth)} ± ${formatFigure(halfWidth, halfWidth)}`;
}
