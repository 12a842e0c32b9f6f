import { styleText } from 'node:util';
import { rankSummaries } from '../../orchestrator/results/summaries.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import { formatFigure } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { formatTable } from './table-lines.ts';

/**
 * Formats several evaluations of one suite in order of the means to quote, with the ranks that their intervals leave open. Means of different
 * suites are not comparable.
 */
export function formatRanking(summaries: readonly Summary[]): string[] {
  const suites = new Set(summaries.map(({ official: { suite } }) => suite.digest));
  if (suites.size > 1)
    return [
      `${styleText('bold', 'not ranked')}  these are evaluations on ${suites.size} different suites (their digests differ), whose means cannot be ranked`,
    ];
  const { confidence, places } = rankSummaries(summaries);
  const percent = `${Number((100 * confidence).toPrecision(4))} %`;
  const widths = summaries.map(({ official: { interval } }) => (interval ? (interval.high - interval.low) / 2 : Infinity));
  const spread = Math.min(...widths);
  const format = (mean: number): string => formatFigure(mean, Number.isFinite(spread) ? spread : Math.abs(mean));
  const rows = places.flatMap(({ contender, best, worst }) => {
    const summary = summaries[contender];
    if (!summary) return [];
    const { biasReducedMean: mean, interval } = summary.official;
    const ends = interval ? `  [${format(interval.low)}, ${format(interval.high)}]` : '';
    const ranks = best === worst ? `rank ${best}` : `rank ${best} to ${worst}`;
    const shown = mean === null || summary.allFailed === true ? 'no mean' : styleText('bold', format(mean));
    return [[ranks, `${shown}${ends}  ${escapeUnprintableLine(summary.checkpoint.uri)}${summary.partial ? '  (partial)' : ''}`] as const];
  });
  const risk =
    confidence > 0 ? `(with at least ${percent} all of these ranks are right)` : '(too many intervals to promise all ranks at once)';
  return [styleText('bold', 'ranking') + styleText('dim', `  ${risk}`), ...formatTable(rows)];
}
