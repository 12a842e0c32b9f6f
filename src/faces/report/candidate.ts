import type { CandidateStatistics } from '../../aggregation/comparison/comparison-statistics.ts';
import { differenceChart } from './charts/difference-chart.ts';
import { formatFailed } from './failures.ts';
import { evidenceChart } from './charts/evidence-chart.ts';
import { markup } from './text/markup.ts';
import type { Content, Markup } from './text/markup.ts';
import { count, countText, data, ends, figure, percentText, share, spreadFigure, spreadOf } from './text/numbers.ts';
import { figureTable } from './text/rows.ts';
import type { FigureRow } from './text/rows.ts';
import { verdictBadge, verdictText } from './text/verdict.ts';
import { warningList } from './text/warnings.ts';

export interface NamedCandidate {
  readonly statistics: CandidateStatistics;
  readonly position: number;
  readonly name: string;
  /** Where the checkpoint came from. */
  readonly line: Content;
  /** Where the statistics stand in the document. */
  readonly source: string;
}

/** What stands at the top of the page: the verdict on a candidate, and the difference that it is about. */
export function verdictCard({ statistics, name, line, position, source }: NamedCandidate, margin: number): Markup {
  const { verdict, difference, interval, pairs, decidedAt } = statistics;
  const spread = spreadOf(interval, difference);
  return markup`<section class="card decision ${verdict}"><h2><a href="#candidate-${position}"><bdi>${name}</bdi></a></h2>
<p>${verdictBadge(verdict)}</p>
<p>${verdictText(verdict, margin)} ${smallestEffect(statistics, source)}</p>
<p class="interval">Difference <b>${figure(difference, spread, `${source}.difference`)}</b>${interval ? markup` ${ends(interval, spread, `${source}.interval`)}` : undefined}</p>
<p class="note">${decidedAt === null ? `Not decided in ${countText(pairs, 'pair')}` : `Decided after ${countText(decidedAt, 'pair')}`} · ${line}</p>
</section>`;
}

function smallestEffect({ smallestEffect }: CandidateStatistics, source: string): Markup | undefined {
  if (smallestEffect === null) return undefined;
  return markup`So many pairs find a difference of ${spreadFigure(smallestEffect, `${source}.smallestEffect`)} with a power of 80 %, had their number been fixed.`;
}

/** All that is known of one candidate. */
export function candidateSection({ statistics, name, position, source }: NamedCandidate, margin: number): Markup {
  const groups = [
    { title: 'Difference', rows: differenceRows(statistics, source) },
    { title: 'Pairs', rows: pairRows(statistics, source) },
  ];
  return markup`<section id="candidate-${position}"><h2><bdi>${name}</bdi> ${verdictBadge(statistics.verdict)}</h2>
${warningList(statistics.warnings)}
<div class="pair">${evidenceChart(statistics, source)}
${differenceChart(statistics, margin, source)}</div>
<section class="card"><h3>Figures</h3>${figureTable(groups)}</section></section>`;
}

function differenceRows(candidate: CandidateStatistics, source: string): FigureRow[] {
  const { verdict, difference, biasReducedDifference, interval, standardError, mean, baselineMean, probabilityOfImprovement } = candidate;
  const spread = spreadOf(interval, difference);
  const rows: FigureRow[] = [
    { name: 'Candidate', value: figure(mean, spread, `${source}.mean`), note: 'mean return over its resolved pairs' },
    { name: 'Baseline', value: figure(baselineMean, spread, `${source}.baselineMean`), note: 'mean return over the same pairs' },
    { name: 'Difference', value: figure(difference, spread), note: 'candidate minus baseline' },
  ];
  if (verdict === 'promote' || verdict === 'regress')
    rows.push({
      name: 'Bias-reduced difference',
      value: figure(biasReducedDifference, spread, `${source}.biasReducedDifference`),
      note: 'quote this one: the verdict decided when to stop',
    });
  if (interval)
    rows.push({
      name: 'Interval',
      value: ends(interval, spread),
      note: markup`${data(interval.confidence, percentText(interval.confidence), `${source}.interval.confidence`)}: ${interval.guarantee}`,
    });
  rows.push({ name: 'Standard error', value: spreadFigure(standardError, `${source}.standardError`), note: 'of the mean difference' });
  if (probabilityOfImprovement)
    rows.push({
      name: 'Probability of improvement',
      value: markup`${share(probabilityOfImprovement.value, `${source}.probabilityOfImprovement.value`)} [${share(probabilityOfImprovement.low, `${source}.probabilityOfImprovement.low`)}, ${share(probabilityOfImprovement.high, `${source}.probabilityOfImprovement.high`)}]`,
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
      value: formatFailed(failures, `${source}.failures`),
      note: 'episodes of the candidate, each with the score that the suite declares',
    },
  ];
}
