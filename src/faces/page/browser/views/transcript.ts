import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { RewardAnswer } from '../../../../agents/arena/episode-answers.ts';
import { formatCount, formatDuration } from '../../../../kernel/text/figures.ts';
import type { Actions } from '../model/actions.ts';
import type { PageState } from '../model/state.ts';
import { readToolCall, type AgentEpisode, type EpisodeDiff, type StoredStep, type Transcript } from '../model/transcript.ts';
import { renderAge } from '../model/wording.ts';
import { formatReward, renderEpisodeState } from './agents.ts';
import { renderFigures } from './figures.ts';
import { renderLink } from './link.ts';
import { renderCall, renderPatch, renderStages } from './step-parts.ts';

/** Renders an agent's episode: each tool call with what was answered and what it changed, and the verdict with its stages. */
export function renderTranscript({ transcript, now }: PageState, id: string, actions: Actions): TemplateResult {
  if (transcript?.id !== id || transcript.episode === undefined) return html`<p class="muted">Reading …</p>`;
  if (transcript.episode === null)
    return html`<div class="card empty">
      <h1>There is no episode <code>${id}</code></h1>
      <p>It may have been deleted, or it is another principal's. See ${renderLink(actions, { view: 'agents' }, 'all episodes')}.</p>
    </div>`;
  const { episode, reward } = transcript;
  return html`<section aria-labelledby="transcript">
    <div class="head">
      <h1 id="transcript"><bdi>${episode.task}</bdi></h1>
      ${renderEpisodeState(episode)}
      <p class="muted"><bdi>${episode.agent}</bdi> · by <bdi>${episode.principal}</bdi> · ${renderAge(episode.createdAt, now)}</p>
    </div>
    ${renderAnswer(episode, reward, actions)} ${renderSteps(transcript, actions)}
  </section>`;
}

function renderAnswer(episode: AgentEpisode, reward: RewardAnswer | undefined, actions: Actions): TemplateResult {
  const { steps, limits, remaining, origin, endedBy } = episode;
  const figures: readonly (readonly [string, string])[] = [
    ['steps', `${formatCount(steps)} of ${formatCount(limits.steps)}`],
    ['time in steps', `${formatDuration(limits.seconds - remaining.seconds)} of ${formatDuration(limits.seconds)}`],
    ['ended by', endedBy ?? 'still open'],
    ...(reward ? [['tests', `${reward.tests_passed} of ${reward.total_tests}`] as const] : []),
  ];
  return html`<div class="card answer">
    <p class="headline">${episode.reward === null ? (episode.outcome ?? episode.state) : `reward ${formatReward(episode.reward)}`}</p>
    ${reward?.problem ? html`<p class="warning">${reward.problem}</p>` : nothing} ${reward ? renderStages(reward.stages) : nothing}
    ${renderFigures([...figures, ...listComponents(reward)])}
    ${origin ? html`<p class="muted">Continues after step ${origin.step} of ${renderLink(actions, { view: 'agent', id: origin.episode }, origin.episode)}.</p>` : nothing}
  </div>`;
}

function listComponents(reward: RewardAnswer | undefined): readonly (readonly [string, string])[] {
  const { gate, core, style, time, errors } = reward?.components ?? {};
  const parts = { gate, core, style, time, errors };
  return Object.entries(parts).flatMap(([name, value]) => (typeof value === 'number' ? [[name, formatReward(value)] as const] : []));
}

function renderSteps({ steps, episode, diffs }: Transcript, actions: Actions): TemplateResult {
  const unread = (episode?.steps ?? 0) - steps.length;
  return html`<section aria-labelledby="steps">
    <div class="head"><h2 id="steps">Steps</h2></div>
    ${steps.length === 0 ? html`<p class="muted">No step was taken yet.</p>` : nothing}
    <ol class="steps">
      ${repeat(
        steps,
        ({ answer }) => answer.step,
        (step) => renderStep(step, diffs.get(step.answer.step), actions),
      )}
    </ol>
    ${unread > 0 && steps.length > 0 ? html`<p><button type="button" @click=${actions.readMore}>Show ${formatCount(unread)} more</button></p>` : nothing}
  </section>`;
}

function renderStep({ action, answer, at }: StoredStep, diff: EpisodeDiff | 'reading' | undefined, actions: Actions): TemplateResult {
  const { name, fields } = readToolCall(action);
  const { data, text } = answer.observation;
  const isRefused = data.kind === 'refused' || (data.kind === 'ran' && !(data.end.kind === 'exited' && data.end.code === 0));
  return html`<li class="card step">
    <div class="head">
      <h3>${answer.step}. <code>${name}</code></h3>
      ${data.kind === 'ran' ? html`<span class="state ${isRefused ? 'failed' : 'finished'}">${formatEnd(data.end)}</span>` : nothing}
      ${data.kind === 'refused' ? html`<span class="state failed">${data.reason}</span>` : nothing}
      <time class="muted" datetime=${at} title=${at}>${at.slice(11, 19)}</time>
    </div>
    ${renderCall(fields, text)} ${answer.notice === null ? nothing : html`<p class="warning">${answer.notice}</p>`}
    ${renderDiff(answer.step, diff, actions)}
  </li>`;
}

function formatEnd(end: Extract<StoredStep['answer']['observation']['data'], { kind: 'ran' }>['end']): string {
  return end.kind === 'exited' ? `exit code ${end.code}` : end.kind === 'signalled' ? `signal ${end.signal}` : end.kind;
}

function renderDiff(step: number, diff: EpisodeDiff | 'reading' | undefined, actions: Actions): TemplateResult {
  const onToggle = ({ target }: Event): void => {
    if (target instanceof HTMLDetailsElement && target.open) actions.readDiff(step);
  };
  return html`<details @toggle=${onToggle}>
    <summary>What it changed</summary>
    ${diff === undefined || diff === 'reading' ? html`<p class="muted">Reading …</p>` : renderPatch(diff)}
  </details>`;
}
