import type { RankRange } from '../../aggregation/ranking.ts';
import { rankSummaries } from '../../orchestrator/results/summaries.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import { PARTIAL } from './answer.ts';
import { nameCheckpoints, renderShortDigest } from './text/checkpoint-name.ts';
import { renderStripCell, renderStripHead, createStripScale, type Strip } from './charts/interval-strip.ts';
import { markup, type Markup } from './text/markup.ts';
import { count, renderEnds, renderFigure, NONE, formatPercentage, computeSpread } from './text/numbers.ts';
import type { Scale } from './charts/plot.ts';

export interface Ranked {
  readonly summary: Summary;
  /** The position in the document. */
  readonly position: number;
  readonly name: string;
  readonly rank: RankRange;
}

export interface RankedSummaries {
  readonly entries: readonly Ranked[];
  /** That all ranks are right at once. */
  readonly confidence: number;
}

/** Ranks the highest mean first; those without one last, in the given order. */
export function rankEntries(summaries: readonly Summary[]): RankedSummaries {
  const names = nameCheckpoints(summaries.map(({ checkpoint }) => checkpoint));
  const { confidence, places } = rankSummaries(summaries);
  const entries = places.flatMap((rank): Ranked[] => {
    const summary = summaries[rank.contender];
    return summary ? [{ summary, position: rank.contender, name: names[rank.contender] ?? '', rank }] : [];
  });
  return { entries, confidence };
}

export function renderRankingTable({ entries, confidence }: RankedSummaries): Markup {
  const scale = createStripScale(entries.map(({ summary }) => toStrip(summary)));
  const promise =
    confidence > 0
      ? `With at least ${formatPercentage(confidence)} all of these ranks are right.`
      : 'There are too many intervals to promise all ranks at once.';
  return markup`<section class="card"><h2>Ranking</h2>
<p>By the mean to quote. ${promise} Where intervals overlap, the order is not settled: that is a question for <code>muster compare</code>.</p>
<div class="scroll wide" role="region" aria-label="Ranking" tabindex="0"><table class="ranking">
<thead><tr><th scope="col">Rank</th><th scope="col" class="words">Checkpoint</th><th scope="col">Mean</th><th scope="col" class="picture">${scale && renderStripHead(scale)}</th><th scope="col">Interval</th><th scope="col">Episodes</th></tr></thead>
<tbody>${entries.map((entry) => renderRankingRow(entry, scale))}</tbody></table></div></section>`;
}

function renderRankingRow({ summary, position, name, rank }: Ranked, scale: Scale | undefined): Markup {
  const { official, partial } = summary;
  const { interval, biasReducedMean: mean, episodes } = official;
  const spread = computeSpread(interval, mean);
  const source = `summaries.${position}.official`;
  return markup`<tr><td>${formatRank(rank)}</td><th scope="row"><a href="#evaluation-${position}"><bdi>${name}</bdi></a> ${partial ? PARTIAL : undefined} ${renderShortDigest(official.checkpoint.digest)}</th><td>${renderFigure(mean, spread, `${source}.biasReducedMean`)}</td><td class="picture">${scale && renderStripCell(toStrip(summary), scale)}</td><td>${interval ? renderEnds(interval, spread, `${source}.interval`) : NONE}</td><td>${count(episodes, `${source}.episodes`)}</td></tr>
`;
}

/** Formats the ranks that the intervals leave open. */
function formatRank({ best, worst }: RankRange): string {
  return best === worst ? `${best}` : `${best} to ${worst}`;
}

function toStrip({ official: { biasReducedMean, interval } }: Summary): Strip {
  return { value: biasReducedMean, low: interval?.low ?? null, high: interval?.high ?? null };
}
