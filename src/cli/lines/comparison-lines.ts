import { styleText } from 'node:util';
import type { Verdict } from '../../aggregation/comparison/comparison-statistics.ts';
import type { ComparisonSummary } from '../../orchestrator/results/comparison-summary.ts';
import { formatCount, formatFigure } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { formatErrors, formatFailedRows } from './failure-lines.ts';
import { runRows } from './summary-lines.ts';
import { formatTable, formatWarnings, type Row } from './table-lines.ts';

type Candidate = ComparisonSummary['official']['candidates'][number];

const MARKS = { promote: '▲', regress: '▼', equivalent: '=', inconclusive: '?' } as const;
const COLOURS = { promote: 'green', regress: 'red', equivalent: 'cyan', inconclusive: 'yellow' } as const;

/** Formats a comparison for people: each verdict, then its basis. @param isErrorShown whether the error that ended it is shown in full elsewhere. */
export function formatComparison(summary: ComparisonSummary, suite: string, isErrorShown = summary.ended === 'failures'): string[] {
  const { official } = summary;
  const title = `${suite} · against ${summary.baseline.uri}${summary.baseline.recorded ? ' (recorded)' : ''}`;
  return [
    styleText('bold', escapeUnprintableLine(title)) + (summary.partial ? styleText('yellow', '  (partial)') : ''),
    ...official.candidates.flatMap((candidate, i) =>
      // Where all episodes of one checkpoint failed, the scores of the failures decide nothing.
      summary.ended === 'failures'
        ? [`  ${styleText('bold', escapeUnprintableLine(nameCandidate(summary, i)))}  no verdict`]
        : formatCandidateLines(candidate, summary, nameCandidate(summary, i)),
    ),
    ...formatTable([
      [
        'episodes',
        `${formatCount(official.episodes)} in ${formatCount(official.pairs)} pairs, of at most ${formatCount(official.budgetEpisodes)}`,
      ],
      ...formatFailedRows('baseline failed', official.baselineFailures, official.pairs),
      ...runRows(summary.run),
      ['baseline', official.baseline.digest],
      ['suite', official.suite.digest],
    ]),
    ...formatErrors(summary.run, isErrorShown),
    ...formatWarnings([...official.warnings, ...summary.warnings]),
  ];
}

function nameCandidate({ candidates, official }: ComparisonSummary, position: number): string {
  return candidates[position]?.uri ?? official.candidates[position]?.name ?? '';
}

function formatCandidateLines(candidate: Candidate, { official }: ComparisonSummary, uri: string): string[] {
  const { verdict, decidedAt, warnings } = candidate;
  const when = decidedAt === null ? `after ${formatCount(candidate.pairs)} pairs` : `after ${formatCount(decidedAt)} pairs`;
  return [
    `  ${formatVerdict(verdict)} ${styleText('bold', escapeUnprintableLine(uri))} ${styleText('dim', when)}`,
    ...formatTable(formatCandidateRows(candidate, official)),
    ...formatWarnings(warnings),
  ];
}

export function formatVerdict(verdict: Verdict): string {
  return styleText(COLOURS[verdict], `${MARKS[verdict]} ${verdict}`);
}

function formatCandidateRows(candidate: Candidate, { confidence, margin }: ComparisonSummary['official']): Row[] {
  const {
    verdict,
    difference,
    biasReducedDifference: reduced,
    interval,
    mean,
    baselineMean,
    evidence,
    smallestEffect,
    probabilityOfImprovement: better,
  } = candidate;
  const spread = interval ? (interval.high - interval.low) / 2 : Math.abs(difference ?? 1);
  const format = (value: number): string => formatFigure(value, spread);
  const formatSigned = (value: number): string => `${value > 0 ? '+' : ''}${format(value)}`;
  const rows: Row[] = [];
  if (difference !== null && mean !== null && baselineMean !== null)
    rows.push(['difference', `${styleText('bold', formatSigned(difference))}, ${format(mean)} against ${format(baselineMean)}`]);
  if (reduced !== null && (verdict === 'promote' || verdict === 'regress'))
    rows.push(['bias-reduced', `${formatSigned(reduced)}  ${styleText('dim', 'quote this one: the verdict decided when to stop')}`]);
  if (interval) {
    const ends = `[${formatSigned(interval.low)}, ${formatSigned(interval.high)}]${margin > 0 ? `, margin ± ${margin}` : ''}`;
    rows.push([`${formatPercent(interval.confidence)} interval`, `${ends}${formatVerdictConfidence(interval.confidence, confidence)}`]);
  }
  rows.push([
    'evidence',
    `${formatOdds(evidence.promote)} for promote, ${formatOdds(evidence.regress)} for regress; a verdict needs ${formatOdds(evidence.needed)}`,
  ]);
  if (better)
    rows.push([
      'chance to do better',
      `${formatShare(better.value)} [${formatShare(better.low)}, ${formatShare(better.high)}] in an episode of each`,
    ]);
  if (smallestEffect !== null)
    rows.push(['smallest effect', `${format(smallestEffect)}: a difference that so many pairs find in 4 of 5 comparisons`]);
  if (candidate.unresolvedPairs > 0)
    rows.push(['lost pairs', `${formatCount(candidate.unresolvedPairs)}, an episode of each with its sandbox (they widen the interval)`]);
  rows.push(...formatFailedRows('failed episodes', candidate.failures, candidate.pairs), ['candidate', candidate.name]);
  return rows;
}

/** With a margin, or with several candidates, the interval's confidence differs from the verdicts': docs/statistics.md explains why. */
function formatVerdictConfidence(ofInterval: number, ofVerdicts: number): string {
  return ofInterval === ofVerdicts ? '' : `  ${styleText('dim', `verdicts hold with ${formatPercent(ofVerdicts)}`)}`;
}

/** Formats 10^x: as a number, or as a power where it is large. */
function formatOdds(log10: number): string {
  return log10 < 4 ? formatFigure(10 ** log10, 10 ** log10) : `10^${Math.floor(log10)}`;
}

function formatPercent(share: number): string {
  return `${Number((share * 100).toPrecision(6))} %`;
}

function formatShare(value: number): string {
  return `${(100 * value).toFixed(0)} %`;
}
