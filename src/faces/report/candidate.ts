import type { CandidateStatistics } from '../../aggregation/comparison/comparison-statistics.ts';
import { renderDifferenceChart } from './charts/difference-chart.ts';
import { renderFailed } from './failures.ts';
import { renderEvidenceChart } from './charts/evidence-chart.ts';
import { markup, type Content, type Markup } from './text/markup.ts';
import {
  count,
  formatQuantity,
  renderData,
  renderEnds,
  renderFigure,
  formatPercentage,
  renderShare,
  renderSpreadFigure,
  computeSpread,
} from './text/numbers.ts';
import { renderFigureTable, type FigureRow } from './text/rows.ts';
import { renderVerdictBadge, formatVerdict } from './text/verdict.ts';
import { renderWarningList } from './text/warnings.ts';

export interface NamedCandidate {
  readonly statistics: CandidateStatistics;
  readonly position: number;
  readonly name: string;
  /** The checkpoint's origin. */
  readonly line: Content;
  /** Path of the statistics in the document. */
  readonly source: string;
}

/** Renders the head of the page: the verdict on a candidate, and its difference from the baseline. */
export function renderVerdictCard({ statistics, name, line, position, source }: NamedCandidate, margin: number): Markup {
  const { verdict, difference, interval, pairs, decidedAt } = statistics;
  const spread = computeSpread(interval, difference);
  return markup`<section class="card decision ${verdict}"><h2><a href="#candidate-${position}"><bdi>${name}</bdi></a></h2>
<p>${renderVerdictBadge(verdict)}</p>
<p>${formatVerdict(verdict, margin)} ${renderSmallestEffect(statistics, source)}</p>
<p class="interval">Difference <b>${renderFigure(difference, spread, `${source}.difference`)}</b>${interval ? markup` ${renderEnds(interval, spread, `${source}.interval`)}` : undefined}</p>
<p class="note">${decidedAt === null ? `Not decided in ${formatQuantity(pairs, 'pair')}` : `Decided after ${formatQuantity(decidedAt, 'pair')}`} · ${line}</p>
</section>`;
}

function renderSmallestEffect({ smallestEffect }: CandidateStatistics, source: string): Markup | undefined {
  if (smallestEffect === null) return undefined;
  return markup`So many pairs find a difference of ${renderSpreadFigure(smallestEffect, `${source}.smallestEffect`)} with a power of 80 %, had their number been fixed.`;
}

export function renderCandidateSection({ statistics, name, position, source }: NamedCandidate, margin: number): Markup {
  const groups = [
    { title: 'Difference', rows: renderDifferenceRows(statistics, source) },
    { title: 'Pairs', rows: pairRows(statistics, source) },
  ];
  return markup`<section id="candidate-${position}"><h2><bdi>${name}</bdi> ${renderVerdictBadge(statistics.verdict)}</h2>
${renderWarningList(statistics.warnings)}
<div class="pair">${renderEvidenceChart(statistics, source)}
${renderDifferenceChart(statistics, margin, source)}</div>
<section class="card"><h3>Figures</h3>${renderFigureTable(groups)}</section></section>`;
}

function renderDifferenceRows(candidate: CandidateStatistics, source: string): FigureRow[] {
  const { verdict, difference, biasReducedDifference, interval, standardError, mean, baselineMean, probabilityOfImprovement } = candidate;
  const spread = computeSpread(interval, difference);
  const rows: FigureRow[] = [
    { name: 'Candidate', value: renderFigure(mean, spread, `${source}.mean`), note: 'mean return over its resolved pairs' },
    { name: 'Baseline', value: renderFigure(baselineMean, spread, `${source}.baselineMean`), note: 'mean return over the same pairs' },
    { name: 'Difference', value: renderFigure(difference, spread), note: 'candidate minus baseline' },
  ];
  if (verdict === 'promote' || verdict === 'regress')
    rows.push({
      name: 'Bias-reduced difference',
      value: renderFigure(biasReducedDifference, spread, `${source}.biasReducedDifference`),
      note: 'quote this one: the verdict decided when to stop',
    });
  if (interval)
    rows.push({
      name: 'Interval',
      value: renderEnds(interval, spread),
      note: markup`${renderData(interval.confidence, formatPercentage(interval.confidence), `${source}.interval.confidence`)}: ${interval.guarantee}`,
    });
  rows.push({
    name: 'Standard error',
    value: renderSpreadFigure(standardError, `${source}.standardError`),
    note: 'of the mean difference',
  });
  if (probabilityOfImprovement)
    rows.push({
      name: 'Probability of improvement',
      value: markup`${renderShare(probabilityOfImprovement.value, `${source}.probabilityOfImprovement.value`)} [${renderShare(probabilityOfImprovement.low, `${source}.probabilityOfImprovement.low`)}, ${renderShare(probabilityOfImprovement.high, `${source}.probabilityOfImprovement.high`)}]`,
      note: 'that a return of the candidate exceeds one of the baseline on the same task, ties half; with a bootstrap interval',
    });
  return rows;
}

function pairRows({ pairs, unresolvedPairs, discordant, decidedAt, failures }: CandidateStatistics, source: string): FigureRow[] {
  return [
    { name: 'Pairs', value: count(pairs, `${source}.pairs`), note: 'the same task and seeds for both' },
    { name: 'Decided at', value: decidedAt === null ? '–' : count(decidedAt, `${source}.decidedAt`), note: 'pairs' },
    { name: 'Returns differed in', value: count(discordant, `${source}.discordant`), note: 'resolved pairs' },
    {
      name: 'Unresolved',
      value: count(unresolvedPairs, `${source}.unresolvedPairs`),
      note: 'pairs with an episode that was lost for good',
    },
    {
      name: 'Failed',
      value: renderFailed(failures, `${source}.failures`),
      note: 'episodes of the candidate, each with the score that the suite declares',
    },
  ];
}
