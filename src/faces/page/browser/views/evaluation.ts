import { html, nothing, type TemplateResult } from 'lit-html';
import { formatCount, formatDuration } from '../../../../kernel/text/figures.ts';
import { isOpen } from '../../../client/live-board.ts';
import type { EvaluationResource } from '../../../http/schemas/evaluation-schemas.ts';
import type { Actions } from '../model/actions.ts';
import { getOfficial, type Detail, type PageState } from '../model/state.ts';
import { renderAge, formatCheckpoint, formatEvaluationDuration, formatEpisodes, formatEstimate, renderState } from '../model/wording.ts';
import { renderComparison } from './comparison.ts';
import { renderCourse } from './course.ts';
import { renderEpisodeTable, type EpisodePage } from './episodes.ts';
import { renderFigures } from './figures.ts';
import { renderReturns } from './returns.ts';
import { renderForgottenSandboxes, renderSandboxes } from '../charts/sandbox-lanes.ts';

/** Renders one evaluation: its answer so far, how the interval has narrowed, its episodes. */
export function renderEvaluation(state: PageState, id: string, actions: Actions): TemplateResult {
  const { detail } = state;
  if (detail?.id !== id || detail.evaluation === undefined) return html`<p class="muted">Reading …</p>`;
  if (detail.evaluation === null)
    return html`<div class="card empty">
      <h1>There is no evaluation <code>${id}</code></h1>
      <p>It may have been deleted: the server keeps evaluations for <code>server.retentionDays</code> after their end.</p>
    </div>`;
  return renderFound(detail, detail.evaluation, state, actions);
}

const FIRST_PAGE = { from: 0, arm: 0, ranking: '', beside: [] } as const satisfies EpisodePage;

function renderFound(detail: Detail, evaluation: EvaluationResource, state: PageState, actions: Actions): TemplateResult {
  const place = state.route.view === 'evaluation' ? state.route : FIRST_PAGE;
  const returns = getOfficial(evaluation) ?? detail.playing?.returns;
  return html`<section aria-labelledby="evaluation">
    <div class="head">
      <h1 id="evaluation"><bdi>${evaluation.suite}</bdi></h1>
      ${renderState(evaluation)}
      <p class="muted">
        <bdi>${formatCheckpoint(evaluation)}</bdi> · by <bdi>${evaluation.principal}</bdi> · ${renderAge(evaluation.createdAt, state.now)}
      </p>
      ${mayCancel(evaluation, state) ? html`<button type="button" @click=${() => actions.cancel(evaluation.id)}>Cancel</button>` : nothing}
      ${evaluation.summary ? html`<a class="button" href="/v1/evaluations/${evaluation.id}/report" target="_blank">Full report</a>` : nothing}
    </div>
    ${evaluation.failure ? html`<p class="warning"><b>${evaluation.failure.code}</b> ${evaluation.failure.message}</p>` : nothing}
    <div class="card answer">
      <p class="headline">${formatEstimate(evaluation)}</p>
      ${renderTargetLine(evaluation)}
      ${renderFigures([
        ['episodes', formatEpisodes(evaluation)],
        ['in flight', formatInFlight(evaluation)],
        ['time', formatEvaluationDuration(evaluation)],
        ['labels', formatLabels(evaluation)],
      ])}
    </div>
    ${evaluation.kind === 'comparison' ? renderComparison(detail, evaluation, place.arm, actions) : nothing}
    ${evaluation.kind === 'comparison' ? nothing : renderCourse(detail, evaluation, state, actions)}
    ${returns && evaluation.kind === 'evaluation' ? renderReturns(returns, evaluation.id, actions) : nothing}
    ${renderPlayed(detail, evaluation)} ${renderEpisodeTable(detail, evaluation, place, actions)}
  </section>`;
}

/** Renders when each sandbox played, also after the end. Renders nothing before the first figures. */
function renderPlayed({ playing }: Detail, { running }: EvaluationResource): TemplateResult | typeof nothing {
  if (!playing || !running) return nothing;
  if (!playing.sandboxes) return renderForgottenSandboxes();
  // `episodes` counts those of all processes that have played the evaluation, `outcomes` those of this one alone.
  return renderSandboxes(playing.sandboxes, running.kind === 'evaluation' && running.episodes > running.outcomes);
}

function mayCancel({ principal, state }: EvaluationResource, { session }: PageState): boolean {
  if (!session || !isOpen({ state })) return false;
  return session.role === 'operator' || (session.role === 'submitter' && session.principal === principal);
}

/** Renders how close the interval is to its target. The necessary number of episodes is inversely proportional to the square of the half-width. */
function renderTargetLine(evaluation: EvaluationResource): TemplateResult | typeof nothing {
  const { running } = evaluation;
  if (running?.kind !== 'evaluation' || running.target === null || running.halfWidth === null) return nothing;
  const share = Math.min(1, (running.target / running.halfWidth) ** 2);
  return html`<p>
    <progress max="1" .value=${share} aria-label="how near the interval is to its target"></progress>
    ± ${running.target} was asked
    for${running.secondsLeft === null || !isOpen(evaluation) ? nothing : html` · ${formatDuration(running.secondsLeft)} left`}
  </p>`;
}

function formatInFlight(evaluation: EvaluationResource): string {
  return isOpen(evaluation) && evaluation.running ? formatCount(evaluation.running.inFlight) : '–';
}

function formatLabels({ labels }: EvaluationResource): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return pairs.length === 0 ? '–' : pairs.join(', ');
}
