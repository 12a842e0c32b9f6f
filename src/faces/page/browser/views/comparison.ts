import { html, nothing, type TemplateResult } from 'lit-html';
import { formatCount, formatFigure } from '../../../../kernel/text/figures.ts';
import type { EpisodeLine } from '../../../http/schemas/episode-schemas.ts';
import type { EvaluationResource } from '../../../http/schemas/evaluation-schemas.ts';
import { renderCurve, type Curve } from '../charts/curve.ts';
import { computeDomain, renderIntervalBar, type Bar, type Domain } from '../charts/interval-bar.ts';
import type { Actions } from '../model/actions.ts';
import { getComparedFigures, type CandidateFigures, type ComparedFigures, type Pair } from '../model/comparison.ts';
import type { Detail } from '../model/state.ts';
import { toEvaluation } from '../model/route.ts';
import { renderLink } from './link.ts';
import { renderTable, listNumbers } from './figures.ts';

/**
 * Renders the candidates on one scale; for the selected one, how the evidence grew, and the pairs that disagree most. @param arm of the selected one.
 */
export function renderComparison(detail: Detail, evaluation: EvaluationResource, arm: number, actions: Actions): TemplateResult {
  const compared = getComparedFigures(evaluation);
  const shown = compared.candidates.find((candidate) => candidate.arm === arm) ?? compared.candidates[0];
  return html`${renderCandidates(compared, evaluation.id, shown?.arm, actions)}
  ${shown ? renderCourses(detail, shown, compared.margin) : nothing}
  ${shown ? renderPairs(detail.pairs, evaluation.id, shown, actions) : nothing}`;
}

function renderCandidates({ candidates, margin }: ComparedFigures, id: string, arm: number | undefined, actions: Actions): TemplateResult {
  const bars = candidates.map((candidate) => toBar(candidate, margin));
  const domain = computeDomain(bars.flatMap((bar) => bar ?? []));
  return renderTable(
    'Candidates',
    [
      'Candidate',
      'Verdict',
      { name: 'Difference to the baseline, against the margin', kind: 'picture' },
      ...listNumbers('Difference', 'P(improvement)', 'Pairs'),
    ],
    candidates.map((candidate, at) => renderCandidateRow(candidate, bars[at], domain, { id, isShown: candidate.arm === arm }, actions)),
    'candidates',
  );
}

function renderCandidateRow(
  candidate: CandidateFigures,
  bar: Bar | undefined,
  domain: Domain | undefined,
  { id, isShown }: { readonly id: string; readonly isShown: boolean },
  actions: Actions,
): TemplateResult {
  const { arm, name, verdict, pairs, statistics } = candidate;
  const improvement = statistics?.probabilityOfImprovement;
  const words = formatDifference(candidate);
  return html`<tr>
    <th scope="row" class="name">${renderLink(actions, toEvaluation(id, { arm }), html`<bdi>${name}</bdi>`, isShown)}</th>
    <td>${verdict === null ? html`<span class="state running">open</span>` : html`<span class="state ${verdict}">${verdict}</span>`}</td>
    <td class="picture">${bar && domain ? renderIntervalBar(bar, domain, words) : nothing}</td>
    <td class="number">${words}</td>
    <td class="number">${improvement ? `${Math.round(improvement.value * 100)} %` : '–'}</td>
    <td class="number">${formatCount(pairs)}</td>
  </tr>`;
}

/** The margin is drawn as the target around no difference. */
function toBar({ difference, low, high }: CandidateFigures, margin: number | null): Bar | undefined {
  if (difference === null) return undefined;
  const interval = low === null || high === null ? null : ([low, high] as const);
  return { mean: difference, interval, target: margin === null ? [0, 0] : [-margin, margin] };
}

function formatDifference({ difference, low, high }: CandidateFigures): string {
  if (difference === null) return '–';
  const spread = low === null || high === null ? 0 : (high - low) / 2;
  const sign = difference > 0 ? '+' : '';
  const ends = low === null || high === null ? '' : ` [${formatFigure(low, spread)}, ${formatFigure(high, spread)}]`;
  return `${sign}${formatFigure(difference, spread)}${ends}`;
}

function renderCourses({ differences }: Detail, { arm, name, statistics }: CandidateFigures, margin: number | null): TemplateResult {
  const points = statistics?.course ?? differences.get(arm) ?? [];
  if (points.length < 2) return html``;
  const x = points.map(({ pairs }) => pairs);
  const difference: Curve = {
    title: `Difference of ${name} to the baseline${margin ? `, margin ±${margin}` : ''}`,
    xLabel: 'pairs',
    x,
    label: 'difference',
    mean: points.map((point) => point.difference),
    band: { low: points.map(({ low }) => low), high: points.map(({ high }) => high) },
    levels: margin === null ? [0] : [-margin, 0, margin],
    alternative: `The mean difference to the baseline with its interval, over ${x.at(-1) ?? 0} pairs.`,
  };
  return html`<div class="beside">
    <div class="card">${renderCurve(difference)}</div>
    ${statistics && statistics.course.length > 1 ? html`<div class="card">${renderEvidence(statistics)}</div>` : nothing}
  </div>`;
}

function renderEvidence({ course, evidence }: NonNullable<CandidateFigures['statistics']>): TemplateResult {
  return renderCurve({
    title: 'Evidence, in orders of magnitude: what reaches the line decides',
    xLabel: 'pairs',
    x: course.map(({ pairs }) => pairs),
    label: 'for promote',
    // Evidence against keeps falling while the other rises: values further below than the line is above are not shown.
    mean: course.map(({ promote }) => Math.max(promote, -evidence.needed)),
    more: [{ label: 'for regress', values: course.map(({ regress }) => Math.max(regress, -evidence.needed)) }],
    levels: [0, evidence.needed],
    alternative: `Evidence ${evidence.promote.toFixed(2)} for promote and ${evidence.regress.toFixed(2)} for regress; ${evidence.needed.toFixed(2)} decides.`,
  });
}

function renderPairs(
  pairs: readonly Pair[],
  id: string,
  { arm, name }: CandidateFigures,
  actions: Actions,
): TemplateResult | typeof nothing {
  if (pairs.length === 0) return nothing;
  const episode = (line: EpisodeLine | undefined, of: number): TemplateResult =>
    line
      ? html`${renderLink(actions, { view: 'episode', id, index: line.index, arm: of }, formatReturn(line))}
          <span class="muted">${formatLength(line)}</span>`
      : html`<span class="muted">not kept here</span>`;
  return html`<section aria-labelledby="pairs">
    <div class="head">
      <h2 id="pairs">Pairs that disagree most</h2>
      <p class="muted">
        The same task and seeds, played by both. ${renderLink(actions, toEvaluation(id, { arm, ranking: 'discordant' }), 'All of them')}
      </p>
    </div>
    ${renderTable(
      'Pairs',
      [...listNumbers('Index'), 'Task', 'Baseline', html`<bdi>${name}</bdi>`, ...listNumbers('Difference')],
      pairs.map(
        ({ baseline, candidate }) =>
          html`<tr>
            <th scope="row" class="number">${formatCount(candidate.index)}</th>
            <td class="name"><bdi>${candidate.task}</bdi></td>
            <td>${episode(baseline, 0)}</td>
            <td>${episode(candidate, arm)}</td>
            <td class="number">${formatGap(baseline, candidate)}</td>
          </tr>`,
      ),
    )}
  </section>`;
}

function formatReturn({ outcome }: EpisodeLine): string {
  switch (outcome.kind) {
    case 'completed':
      return String(outcome.return);
    case 'failed':
      return outcome.cause;
    case 'lost':
      return 'lost';
  }
}

function formatLength({ outcome }: EpisodeLine): string {
  return outcome.kind === 'completed' ? `${formatCount(outcome.length)} steps` : '';
}

function formatGap(baseline: EpisodeLine | undefined, { outcome }: EpisodeLine): string {
  if (baseline?.outcome.kind !== 'completed' || outcome.kind !== 'completed') return '–';
  const gap = outcome.return - baseline.outcome.return;
  return `${gap > 0 ? '+' : ''}${formatFigure(gap, 0)}`;
}
