import { html, type TemplateResult } from 'lit-html';
import { formatCount } from '../../../../kernel/text/figures.ts';
import type { RolloutsResource } from '../../../http/schemas/rollout-schemas.ts';
import type { Actions } from '../model/actions.ts';
import type { PageState } from '../model/state.ts';
import { renderAge } from '../model/wording.ts';
import { renderLink } from './link.ts';
import { renderTable, listNumbers } from './figures.ts';

export function renderStreams({ streams, now }: PageState, actions: Actions): TemplateResult {
  if (!streams) return html`<p class="muted">Reading …</p>`;
  return html`<section aria-labelledby="rollouts">
    <div class="head">
      <h1 id="rollouts">Rollouts</h1>
      <p class="muted">Streams of groups for trainings, latest first.</p>
    </div>
    ${streams.length === 0 ? renderEmpty() : renderList(streams, now, actions)}
  </section>`;
}

function renderList(streams: readonly RolloutsResource[], now: number, actions: Actions): TemplateResult {
  return renderTable(
    'Streams',
    [
      'State',
      'Policy',
      'Suite',
      ...listNumbers('Begun', 'Ready', 'Acknowledged', 'Filtered', 'Stale', 'Trajectories'),
      'By',
      ...listNumbers('Asked for'),
    ],
    streams.map(
      ({ id, state, policy, suite, groups, principal, createdAt }) =>
        html`<tr>
          <td>${renderStreamState(state)}</td>
          <th scope="row" class="name">${renderLink(actions, { view: 'stream', id }, html`<bdi>${policy}</bdi>`)}</th>
          <td class="name"><bdi>${suite}</bdi></td>
          <td class="number">${formatCount(groups.begun)}</td>
          <td class="number">${formatCount(groups.ready)}</td>
          <td class="number">${formatCount(groups.acknowledged)}</td>
          <td class="number">${formatFilteredShare(groups)}</td>
          <td class="number">${formatCount(groups.stale)}</td>
          <td class="number">${formatCount(groups.trajectories)}</td>
          <td class="name"><bdi>${principal}</bdi></td>
          <td class="number">${renderAge(createdAt, now)}</td>
        </tr>`,
    ),
  );
}

const KINDS: Readonly<Record<RolloutsResource['state'], string>> = {
  running: 'running',
  completed: 'finished',
  cancelled: '',
  failed: 'failed',
};

export function renderStreamState(state: RolloutsResource['state']): TemplateResult {
  return html`<span class="state ${KINDS[state]}">${state}</span>`;
}

/** Formats the share of finished groups that taught nothing: `12 (40 %)`. */
export function formatFilteredShare({ filtered, ready, acknowledged, stale }: RolloutsResource['groups']): string {
  const settled = filtered + ready + acknowledged + stale;
  return settled === 0 ? formatCount(filtered) : `${formatCount(filtered)} (${Math.round((100 * filtered) / settled)} %)`;
}

function renderEmpty(): TemplateResult {
  return html`<div class="card empty">
    <h2>No training takes groups here yet</h2>
    <p>A stream has a model act on a suite's tasks in groups, and hands them to a trainer. Begin one from a shell:</p>
    <pre><code>muster rollouts start SUITE model.yaml --group-size 8 --server ${location.origin}</code></pre>
  </div>`;
}
