import { rankContenders, type RankRange } from '../../aggregation/ranking.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import { PARTIAL } from './answer.ts';
import { nameCheckpoints, renderShortDigest } from './text/checkpoint-name.ts';
import { renderStripCell, renderStripHead, createStripScale, type Strip } from './charts/interval-strip.ts';
import { markup, type Markup } from './text/markup.ts';
import { count, renderEnds, renderFigure, NONE, computeSpread } from './text/numbers.ts';
import type { Scale } from './charts/plot.ts';

export interface Ranked {
  readonly summary: Summary;
  /** The position in the document. */
  readonly position: number;
  readonly name: string;
}

/** Ranks the highest mean first; those without one last, in the given order. */
export function rankSummaries(summaries: readonly Summary[]): Ranked[] {
  const getMean = ({ summary }: Ranked): number => summary.official.mean ?? -Infinity;
  const names = nameCheckpoints(summaries.map(({ checkpoint }) => checkpoint));
  const entries = summaries.map((summary, position) => ({ summary, position, name: names[position] ?? '' }));
  return entries.sort((a, b) => getMean(b) - getMean(a) || a.position - b.position);
}

export function renderRankingTable(entries: readonly Ranked[]): Markup {
  const scale = createStripScale(entries.map(({ summary }) => toStrip(summary)));
  const { places } = rankContenders(entries.map(({ summary }) => summary.official));
  const ranks = new Map(places.map((place) => [place.contender, place]));
  return markup`<section class="card"><h2>Ranking</h2>
<p>By the mean return. Where intervals overlap, the order is not settled: that is a question for <code>muster compare</code>.</p>
<div class="scroll wide" role="region" aria-label="Ranking" tabindex="0"><table class="ranking">
<thead><tr><th scope="col">Rank</th><th scope="col" class="words">Checkpoint</th><th scope="col">Mean</th><th scope="col" class="picture">${scale && renderStripHead(scale)}</th><th scope="col">Interval</th><th scope="col">Episodes</th></tr></thead>
<tbody>${entries.map((entry, position) => renderRankingRow(entry, ranks.get(position), scale))}</tbody></table></div></section>`;
}

function renderRankingRow({ summary, position, name }: Ranked, rank: RankRange | undefined, scale: Scale | undefined): Markup {
  const { official, partial } = summary;
  const { interval, mean, episodes } = official;
  const spread = computeSpread(interval, mean);
  const source = `summaries.${position}.official`;
  return markup`<tr><td>${rank && formatRank(rank)}</td><th scope="row"><a href="#evaluation-${position}"><bdi>${name}</bdi></a> ${partial ? PARTIAL : undefined} ${renderShortDigest(official.checkpoint.digest)}</th><td>${renderFigure(mean, spread, `${source}.mean`)}</td><td class="picture">${scale && renderStripCell(toStrip(summary), scale)}</td><td>${interval ? renderEnds(interval, spread, `${source}.interval`) : NONE}</td><td>${count(episodes, `${source}.episodes`)}</td></tr>
`;
}

/** Formats the ranks that the intervals leave open. */
function formatRank({ best, worst }: RankRange): string {
  return best === worst ? `${best}` : `${best} to ${worst}`;
}

function toStrip({ official: { mean, interval } }: Summary): Strip {
  return { value: mean, low: interval?.low ?? null, high: interval?.high ?? null };
}
