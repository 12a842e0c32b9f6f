import type { CandidateStatistics } from '../../aggregation/comparison/comparison-statistics.ts';
import type { ComparisonSummary } from '../../orchestrator/results/comparison-summary.ts';
import { renderCandidateSection, type NamedCandidate, renderVerdictCard } from './candidate.ts';
import { type Strip, renderStripCell, renderStripHead, createStripScale } from './charts/interval-strip.ts';
import type { Scale } from './charts/plot.ts';
import { renderErrorList, renderFailed } from './failures.ts';
import { runSection } from './run-section.ts';
import { renderCheckpointLine, nameCheckpoints } from './text/checkpoint-name.ts';
import { markup, type Markup } from './text/markup.ts';
import { count, renderData, renderEnds, renderFigure, NONE, formatPercentage, renderShare, computeSpread } from './text/numbers.ts';
import { renderFigureTable } from './text/rows.ts';
import { renderVerdictBadge } from './text/verdict.ts';
import { renderWarningList } from './text/warnings.ts';
import { formatEnding } from './text/wording.ts';

/** Renders the verdicts first, then what they rest on, candidate by candidate. */
export function renderComparison(comparison: ComparisonSummary): Markup {
  const { official, warnings, run } = comparison;
  const candidates = rankCandidates(comparison);
  return markup`<div class="decisions">${candidates.map((candidate) => renderVerdictCard(candidate, official.margin))}</div>
${renderPromise(comparison)}
${renderWarningList([...official.warnings, ...warnings])}
${candidates.length > 1 ? renderCandidateTable(candidates, official.margin) : undefined}
${candidates.map((candidate) => renderCandidateSection(candidate, official.margin))}
<section><h2>The run</h2>${runSection(run, 'run')}
${renderErrors(comparison)}
${renderInputs(comparison, candidates)}</section>`;
}

/** Puts the greatest difference first. */
function rankCandidates({ official, candidates }: ComparisonSummary): NamedCandidate[] {
  const names = nameCheckpoints(candidates);
  const named = official.candidates.map((statistics, position) => {
    const checkpoint = candidates[position] ?? { uri: statistics.name, files: 0, bytes: 0 };
    return {
      statistics,
      position,
      name: names[position] ?? statistics.name,
      line: renderCheckpointLine(checkpoint, statistics.name),
      source: `official.candidates.${position}`,
    };
  });
  return named.sort((a, b) => getDifference(b) - getDifference(a) || a.position - b.position);
}

function getDifference({ statistics }: NamedCandidate): number {
  return statistics.difference ?? -Infinity;
}

/** Renders what the verdicts together promise, and what they cost. */
function renderPromise({ official, ended }: ComparisonSummary): Markup {
  const { candidates, margin, confidence, pairs, episodes } = official;
  const verdicts = candidates.length === 1 ? 'the verdict is right' : 'none of these verdicts is wrong';
  const tolerance = markup` Differences of at most ${renderData(margin, String(margin), 'official.margin')} do not matter (the margin).`;
  return markup`<p class="promise">With a probability of at least ${renderData(confidence, formatPercentage(confidence), 'official.confidence')} ${verdicts}, whenever the comparison stops.${margin > 0 ? tolerance : undefined} It took ${count(pairs, 'official.pairs')} pairs, ${count(episodes, 'official.episodes')} episodes in all: ${formatEnding(ended)}.</p>`;
}

function renderErrors({ run }: ComparisonSummary): Markup | undefined {
  return run.errors === undefined
    ? undefined
    : markup`<section class="card"><h3>Errors of failed episodes</h3>${renderErrorList(run)}</section>`;
}

function renderInputs({ official, baseline, verdict }: ComparisonSummary, candidates: readonly NamedCandidate[]): Markup {
  const rows = [
    { name: 'Suite', value: markup`<bdi>${official.suite.name}</bdi>`, note: markup`<code>${official.suite.digest}</code>` },
    {
      name: 'Baseline',
      value: baseline.recorded ? 'recorded: played before' : 'played beside the candidates',
      note: markup`<code>${official.baseline.digest}</code>`,
    },
    {
      name: 'Baseline failed',
      value: renderFailed(official.baselineFailures, 'official.baselineFailures'),
      note: 'episodes, each with the score that the suite declares',
    },
    ...candidates.map(({ name, statistics }) => ({
      name: 'Candidate',
      value: markup`<bdi>${name}</bdi>`,
      note: markup`<code>${statistics.name}</code>`,
    })),
    { name: 'Budget', value: count(official.budgetEpisodes, 'official.budgetEpisodes'), note: 'episodes of all together' },
    { name: 'Best verdict', value: renderVerdictBadge(verdict), note: 'of any candidate: what the exit code says' },
  ];
  return markup`<section class="card"><h3>What was compared</h3>${renderFigureTable([{ title: 'Inputs', rows }])}</section>`;
}

/** Renders all candidates on one scale, in the given order. */
function renderCandidateTable(candidates: readonly NamedCandidate[], margin: number): Markup {
  const scale = createStripScale(
    candidates.map(({ statistics }) => toStrip(statistics)),
    [-margin, 0, margin],
  );
  return markup`<section class="card"><h2>Candidates</h2>
<p>The greatest difference first, each with its interval; the line through all of them is no difference.</p>
<div class="scroll wide" role="region" aria-label="Candidates" tabindex="0"><table>
<thead><tr><th scope="col">Candidate</th><th scope="col">Difference</th><th scope="col" class="picture">${scale && renderStripHead(scale)}</th><th scope="col">Interval</th><th scope="col">P(improvement)</th><th scope="col">Pairs</th><th scope="col">Verdict</th></tr></thead>
<tbody>${candidates.map((candidate) => renderCandidateRow(candidate, scale))}</tbody></table></div></section>`;
}

function renderCandidateRow({ statistics, name }: NamedCandidate, scale: Scale | undefined): Markup {
  const { difference, interval, probabilityOfImprovement, pairs, verdict } = statistics;
  const spread = computeSpread(interval, difference);
  return markup`<tr><th scope="row"><bdi>${name}</bdi></th><td>${renderFigure(difference, spread)}</td><td class="picture">${scale && renderStripCell(toStrip(statistics), scale, 0)}</td><td>${interval ? renderEnds(interval, spread) : NONE}</td><td>${probabilityOfImprovement ? renderShare(probabilityOfImprovement.value) : NONE}</td><td>${count(pairs)}</td><td>${renderVerdictBadge(verdict)}</td></tr>
`;
}

function toStrip({ difference, interval }: CandidateStatistics): Strip {
  return { value: difference, low: interval?.low ?? null, high: interval?.high ?? null };
}
