import { styleText } from 'node:util';
import type { Summaries } from '../../orchestrator/results/summaries.ts';
import { formatFigure } from '../../kernel/text/figures.ts';
import { printableLine } from '../../kernel/text/printable.ts';
import { tableLines } from './table-lines.ts';

/** Several checkpoints in the order of their means, with the ranks that their intervals leave open. */
export function rankingLines({ ranking, summaries }: Summaries): string[] {
  const percent = `${Number((100 * ranking.confidence).toPrecision(4))} %`;
  const widths = summaries.map(({ official: { interval } }) => (interval ? (interval.high - interval.low) / 2 : Infinity));
  const spread = Math.min(...widths);
  const figure = (mean: number): string => formatFigure(mean, Number.isFinite(spread) ? spread : Math.abs(mean));
  const intervalOf = new Map(
    summaries.map(({ official, checkpoint }) => [`${official.checkpoint.digest} ${checkpoint.uri}`, official.interval]),
  );
  const rows = ranking.places.map(({ checkpoint, uri, mean, best, worst }) => {
    const interval = intervalOf.get(`${checkpoint} ${uri}`);
    const ends = interval ? `  [${figure(interval.low)}, ${figure(interval.high)}]` : '';
    const ranks = best === worst ? `rank ${best}` : `rank ${best} to ${worst}`;
    return [ranks, `${mean === null ? 'no mean' : styleText('bold', figure(mean))}${ends}  ${printableLine(uri)}`] as const;
  });
  const risk =
    ranking.confidence > 0
      ? `(with at least ${percent} all of these ranks are right)`
      : '(too many intervals to promise all ranks at once)';
  return [styleText('bold', 'ranking') + styleText('dim', `  ${risk}`), ...tableLines(rows)];
}
