import { styleText } from 'node:util';
import type { Summaries } from '../orchestrator/summaries.ts';
import { formatFigure } from '../shown/figures.ts';
import { printableLine } from '../shown/printable.ts';
import { tableLines } from './summary-lines.ts';

/** Several checkpoints in the order of their means, with the ranks that their intervals leave open. */
export function rankingLines({ ranking, summaries }: Summaries): string[] {
  const percent = `${Number((100 * ranking.confidence).toPrecision(4))} %`;
  const widths = summaries.map(({ official: { interval } }) => (interval ? (interval.high - interval.low) / 2 : Infinity));
  const spread = Math.min(...widths);
  const figure = (mean: number): string => formatFigure(mean, Number.isFinite(spread) ? spread : Math.abs(mean));
  const rows = ranking.places.map(({ uri, mean, best, worst }) => {
    const ranks = best === worst ? `rank ${best}` : `rank ${best} to ${worst}`;
    return [ranks, `${mean === null ? 'no mean' : styleText('bold', figure(mean))}  ${printableLine(uri)}`] as const;
  });
  const risk =
    ranking.confidence > 0
      ? `(all of these ranks hold together with at least ${percent})`
      : '(too many intervals to promise all ranks at once)';
  return [styleText('bold', 'ranking') + styleText('dim', `  ${risk}`), ...tableLines(rows)];
}
