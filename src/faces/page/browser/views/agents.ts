import { html, nothing, type TemplateResult } from 'lit-html';
import { formatCount, formatFigure } from '../../../../kernel/text/figures.ts';
import type { Actions } from '../model/actions.ts';
import type { PageState } from '../model/state.ts';
import type { AgentEpisode } from '../model/transcript.ts';
import { renderAge } from '../model/wording.ts';
import { renderLink } from './link.ts';
import { renderTable, listNumbers } from './figures.ts';

/** Renders episodes of agents, latest first. */
export function renderAgents({ agents, now }: PageState, actions: Actions): TemplateResult {
  if (!agents) return html`<p class="muted">Reading …</p>`;
  return html`<section aria-labelledby="agents">
    <div class="head">
      <h1 id="agents">Agents</h1>
      <p class="muted">Episodes that agents play over HTTP, latest first.</p>
    </div>
    ${agents.items.length === 0 ? renderEmpty() : renderList(agents.items, now, actions)}
    ${agents.next === null ? nothing : html`<p><button type="button" @click=${actions.readMore}>Show earlier ones</button></p>`}
  </section>`;
}

function renderList(items: readonly AgentEpisode[], now: number, actions: Actions): TemplateResult {
  return renderTable(
    'Episodes of agents',
    ['State', 'Task', 'Agent', ...listNumbers('Reward', 'Steps'), 'Ended by', 'By', ...listNumbers('Begun')],
    items.map(
      (episode) =>
        html`<tr>
          <td>${renderEpisodeState(episode)}</td>
          <th scope="row" class="name">${renderLink(actions, { view: 'agent', id: episode.episode }, html`<bdi>${episode.task}</bdi>`)}</th>
          <td class="name"><bdi>${episode.agent}</bdi></td>
          <td class="number">${formatReward(episode.reward)}</td>
          <td class="number">${formatCount(episode.steps)} of ${formatCount(episode.limits.steps)}</td>
          <td>${episode.endedBy ?? '–'}</td>
          <td class="name"><bdi>${episode.principal}</bdi></td>
          <td class="number">${renderAge(episode.createdAt, now)}</td>
        </tr>`,
    ),
  );
}

export function renderEpisodeState({ state, outcome }: AgentEpisode): TemplateResult {
  const kind =
    outcome === 'rewarded'
      ? 'finished'
      : outcome === 'failed'
        ? 'failed'
        : outcome === 'void'
          ? 'lost'
          : state === 'open'
            ? 'open'
            : 'waiting';
  return html`<span class="state ${kind}">${outcome ?? state}</span>`;
}

export function formatReward(reward: number | null): string {
  return reward === null ? '–' : formatFigure(reward, 0);
}

function renderEmpty(): TemplateResult {
  return html`<div class="card empty">
    <h2>No agent has played here yet</h2>
    <p>Agents play the tasks in <code>arena.tasks</code> over HTTP. Begin an episode from a shell:</p>
    <pre><code>muster episode start TASK --agent me --server ${location.origin}</code></pre>
  </div>`;
}
