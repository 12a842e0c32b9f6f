import { html, nothing, type TemplateResult } from 'lit-html';
import { formatCount, formatFigure } from '../../../../kernel/text/figures.ts';
import type { BoardResource } from '../../../http/schemas/rollout-schemas.ts';
import { renderCurve } from '../charts/curve.ts';
import type { Actions } from '../model/actions.ts';
import { readRewards } from '../model/rewards.ts';
import type { PageState } from '../model/state.ts';
import { formatLease, renderAge } from '../model/wording.ts';
import { renderFigures, renderTable, listNumbers } from './figures.ts';
import { renderRows } from './row.ts';
import { renderLink } from './link.ts';
import { formatFilteredShare, renderStreamState } from './streams.ts';

type Group = BoardResource['groups'][number];

/** Renders one stream: what it may still begin and what prevents more, and its latest groups with rewards, advantages, staleness and leases. */
export function renderStream(state: PageState, id: string, actions: Actions): TemplateResult {
  const { stream: looked, now } = state;
  if (looked?.id !== id || looked.board === undefined) return html`<p class="muted">Reading …</p>`;
  if (looked.board === null)
    return html`<div class="card empty">
      <h1>There is no stream <code>${id}</code></h1>
      <p>It may have been deleted, or it is another principal's. See ${renderLink(actions, { view: 'rollouts' }, 'all streams')}.</p>
    </div>`;
  const { board } = looked;
  const { stream, groups } = board;
  return html`<section aria-labelledby="stream">
    <div class="head">
      <h1 id="stream"><bdi>${stream.policy}</bdi> on <bdi>${stream.suite}</bdi></h1>
      ${renderStreamState(stream.state)}
      <p class="muted">by <bdi>${stream.principal}</bdi> · ${renderAge(stream.createdAt, now)}</p>
      ${mayCancel(board, state) ? html`<button type="button" @click=${() => actions.cancelStream(id)}>Cancel</button>` : nothing}
    </div>
    ${stream.problem === null ? nothing : html`<p class="warning">${stream.problem}</p>`} ${renderCapacity(board)} ${renderRewards(groups)}
    ${renderGroups(groups, now)}
  </section>`;
}

function mayCancel({ stream }: BoardResource, { session }: PageState): boolean {
  if (!session || stream.state !== 'running') return false;
  return session.role === 'operator' || (session.role === 'submitter' && session.principal === stream.principal);
}

function renderCapacity({ stream: { terms, groups }, capacity, versions }: BoardResource): TemplateResult {
  const { trajectories, mostTrajectories, waiting, mostWaiting } = capacity;
  const figures: readonly (readonly [string, string])[] = [
    ['groups begun', formatCount(groups.begun)],
    ['acknowledged', formatCount(groups.acknowledged) + (terms.total === undefined ? '' : ` of ${formatCount(terms.total)}`)],
    ['filtered: no signal', formatFilteredShare(groups)],
    ['stale', formatCount(groups.stale)],
    ['trajectories that act or are graded', formatCount(trajectories)],
    ['that may act at a time', formatCount(mostTrajectories)],
    ['trajectories ended', formatCount(groups.trajectories)],
    [
      'versions reported',
      versions.last === null ? formatCount(versions.reported) : `${formatCount(versions.reported)}, the last ${formatCount(versions.last)}`,
    ],
    ['may be behind', terms.maxStaleness === 1 ? '1 version' : `${formatCount(terms.maxStaleness)} versions`],
    ['advantages', terms.advantages],
  ];
  return html`<div class="card answer">
    ${renderShare('groups wait for the trainer', waiting, mostWaiting)}
    <p class="muted">${formatLimit(capacity, terms)}</p>
    ${renderFigures(figures)}
  </div>`;
}

/** Formats what prevents more from beginning. */
function formatLimit(
  { waiting, mostWaiting, untilNextVersion }: BoardResource['capacity'],
  { batch }: Pick<BoardResource['stream']['terms'], 'batch'>,
): string {
  if (waiting >= mostWaiting) return 'Nothing begins until the trainer takes groups.';
  if (untilNextVersion === 0)
    return `Nothing begins until the trainer tells the next version. It takes ${formatCount(batch)} groups for each.`;
  return `${formatCount(untilNextVersion)} more groups may begin before the trainer tells the next version.`;
}

function renderShare(what: string, now: number, most: number): TemplateResult {
  return html`<p>
    <progress max=${Math.max(1, most)} .value=${Math.min(now, most)} aria-label=${what}></progress>${formatCount(now)} of
    ${formatCount(most)} ${what}
  </p>`;
}

function renderRewards(groups: readonly Group[]): TemplateResult | typeof nothing {
  const { by, points } = readRewards(groups);
  if (points.length < 2) return nothing;
  return html`<div class="card">
    ${renderCurve({
      title: by === 'version' ? 'Mean reward by version of the policy' : 'Mean reward of the groups that a trainer gets',
      xLabel: by,
      x: points.map(({ x }) => x),
      label: 'mean reward',
      mean: points.map(({ mean }) => mean),
      alternative: `Mean reward of ${points.length} ${by}s; the table below has the figures of each group.`,
    })}
  </div>`;
}

function renderGroups(groups: readonly Group[], now: number): TemplateResult {
  return html`<section aria-labelledby="groups">
    <div class="head">
      <h2 id="groups">Groups</h2>
      <p class="muted">The latest, 60 at most.</p>
    </div>
    ${groups.length === 0 ? html`<p class="muted">No group has begun yet.</p>` : renderList(groups, now)}
  </section>`;
}

function renderList(groups: readonly Group[], now: number): TemplateResult {
  return renderTable(
    'Groups of the stream',
    [
      ...listNumbers('Group'),
      'State',
      'Task',
      'Rewards',
      ...listNumbers('Mean'),
      'Advantages',
      ...listNumbers('Versions', 'Behind'),
      'Lease',
    ],
    renderRows(
      groups,
      ({ number }) => number,
      (group) => renderRow(group, now),
    ),
  );
}

function renderRow(
  { number, state, task, wanted, members, mean, advantages, versions, staleness, leases, leasedUntil }: Group,
  now: number,
): TemplateResult {
  return html`<tr>
    <th scope="row" class="number">${formatCount(number)}</th>
    <td><span class="state ${STATE_KINDS[state]}">${state}</span></td>
    <td class="name"><bdi>${task ?? '–'}</bdi></td>
    <td class="list">${renderRewardMarks(members, wanted, state)}</td>
    <td class="number">${mean === null ? '–' : formatFigure(mean, 0)}</td>
    <td class="list">${advantages.length === 0 ? '–' : advantages.map(formatAdvantage).join('  ')}</td>
    <td class="number">${formatVersions(versions)}</td>
    <td class="number">${staleness === null ? '–' : formatCount(staleness)}</td>
    <td>${describeLease(leases, leasedUntil, now)}</td>
  </tr>`;
}

const STATE_KINDS: Readonly<Record<Group['state'], string>> = {
  running: 'running',
  ready: 'waiting',
  acknowledged: 'finished',
  filtered: '',
  stale: 'lost',
};

function renderRewardMarks(members: Group['members'], wanted: number, state: Group['state']): string {
  if (state !== 'running' && members.length === 0) return '–';
  const texts = members.map(({ reward, isMasked }) =>
    reward === null ? 'none' : `${formatFigure(reward, 0)}${isMasked ? ' (left out)' : ''}`,
  );
  const missing = wanted - members.length;
  return [...texts, ...(state === 'running' && missing > 0 ? [`${formatCount(missing)} play`] : [])].join('  ');
}

function formatAdvantage(advantage: number | null): string {
  return advantage === null ? 'none' : `${advantage > 0 ? '+' : ''}${advantage.toFixed(2)}`;
}

function formatVersions(versions: Group['versions']): string {
  if (versions === null || versions.oldest === null || versions.newest === null) return '–';
  return versions.oldest === versions.newest
    ? formatCount(versions.oldest)
    : `${formatCount(versions.oldest)} to ${formatCount(versions.newest)}`;
}

function describeLease(leases: number, until: string | null, now: number): string {
  if (until === null) return leases === 0 ? '–' : `${formatCount(leases)} so far`;
  return `${leases > 1 ? `${formatCount(leases)} times, ` : ''}${formatLease(until, now)}`;
}
