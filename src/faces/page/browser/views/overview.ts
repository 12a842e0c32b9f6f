import { html, nothing, type TemplateResult } from 'lit-html';
import { formatCount } from '../../../../kernel/text/figures.ts';
import { isOpen } from '../../../client/live-board.ts';
import type { EvaluationItem } from '../../../http/schemas/evaluation-schemas.ts';
import type { Actions } from '../model/actions.ts';
import { computeDomain, renderIntervalBar, type Domain } from '../charts/interval-bar.ts';
import { ALL_EVALUATIONS, NO_FILTER, toEvaluation, type Filter, type Route } from '../model/route.ts';
import { filterEvaluations, type PageState } from '../model/state.ts';
import {
  formatAgeOf,
  renderAge,
  toBar,
  formatCheckpoint,
  formatEvaluationDuration,
  formatEpisodes,
  formatEstimate,
  formatRate,
  renderState,
} from '../model/wording.ts';
import { renderBeside } from './beside.ts';
import { renderLink } from './link.ts';
import { renderPoolSummary } from './pools.ts';
import { renderRows, renderWhenDue } from './row.ts';
import { renderRunCurve } from './run-curve.ts';
import { renderTable, listNumbers } from './figures.ts';

type Place = Extract<Route, { view: 'overview' }>;

/** Renders evaluations as they arrive, each with its interval on the scale of its suite; for one run also the curve over its versions. */
export function renderOverview(state: PageState, place: Place, actions: Actions): TemplateResult {
  const { filter, beside } = place;
  const found = filterEvaluations(state);
  const items = found.slice(0, state.rows);
  return html`
    <section aria-labelledby="evaluations">
      <div class="head">
        <h1 id="evaluations">Evaluations</h1>
        <p class="muted">${formatCounts(found, items.length)}</p>
        ${renderPoolSummary(state.pools)}
      </div>
      ${renderFilters(state, place, actions)} ${filter.run === '' ? nothing : renderRunCurve(found, [filter.run, ...beside])}
      ${items.length === 0 ? renderEmptyList(state) : renderList(items, state, actions)}
      ${state.next || found.length > items.length ? html`<p><button type="button" @click=${actions.readMore}>Show earlier ones</button></p>` : nothing}
    </section>
  `;
}

function formatCounts(items: readonly EvaluationItem[], shown: number): string {
  const count = (state: EvaluationItem['state']): number => items.filter((item) => item.state === state).length;
  return `${count('running')} running · ${count('waiting')} waiting · ${formatCount(shown)} shown`;
}

function renderFilters(state: PageState, place: Place, actions: Actions): TemplateResult {
  const { filter } = place;
  const all = [...state.evaluations.values()];
  const runs = listDistinct(all.map(({ run }) => run ?? ''));
  const choose = (change: Partial<Filter>): void =>
    actions.go({ ...place, filter: { ...filter, ...change }, beside: change.run === undefined ? place.beside : [] });
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return html`<form class="filters" @submit=${(event: Event) => event.preventDefault()}>
    ${renderChoice('Run', filter.run, runs, (run) => choose({ run }))}
    ${renderChoice('Suite', filter.suite, listDistinct(all.map(({ suite }) => suite)), (suite) => choose({ suite }))}
    ${renderChoice('State', filter.state, ['waiting', 'running', 'finished', 'cancelled', 'failed'], (value) => choose({ state: value }))}
    ${filter.run === '' ? nothing : renderBeside(place, 'Over it', listOthers(runs, filter.run), actions)}
    ${isFiltered ? html`<button type="button" @click=${() => actions.go(ALL_EVALUATIONS)}>Show all</button>` : nothing}
  </form>`;
}

function listOthers(runs: readonly string[], chosen: string): readonly { readonly value: string; readonly text: string }[] {
  return runs.filter((run) => run !== chosen).map((run) => ({ value: run, text: run }));
}

/** @param values may lack the chosen one: an address can name a value that is not in the list. */
function renderChoice(label: string, chosen: string, values: readonly string[], onChoose: (value: string) => void): TemplateResult {
  const all = listDistinct([...values, chosen]);
  const onChange = ({ target }: Event): void => {
    if (target instanceof HTMLSelectElement) onChoose(target.value);
  };
  return html`<label
    >${label}
    <select @change=${onChange}>
      <option value="" ?selected=${chosen === ''}>all</option>
      ${all.map((value) => html`<option value=${value} ?selected=${value === chosen}>${value}</option>`)}
    </select></label
  >`;
}

function listDistinct(values: readonly string[]): readonly string[] {
  return [...new Set(values.filter((value) => value !== ''))].sort();
}

function renderList(items: readonly EvaluationItem[], state: PageState, actions: Actions): TemplateResult {
  const domains = computeDomainsBySuite(items);
  return renderTable(
    'Table of evaluations',
    [
      'State',
      'Suite',
      'Checkpoint',
      { name: 'Interval, against its target', kind: 'picture' },
      ...listNumbers('Estimate', 'Episodes', 'Rate', 'Time'),
      'By',
      ...listNumbers('Asked for'),
    ],
    renderRows(
      items,
      ({ id }) => id,
      (item) => renderListed(item, domains.get(item.suite), state.now, actions),
    ),
    'evaluations',
  );
}

function computeDomainsBySuite(items: readonly EvaluationItem[]): ReadonlyMap<string, Domain> {
  const bySuite = Map.groupBy(items, ({ suite }) => suite);
  const domains = Array.from(bySuite, ([suite, group]) => [suite, computeDomain(group.flatMap((item) => toBar(item) ?? []))] as const);
  return new Map(domains.flatMap(([suite, domain]) => (domain ? [[suite, domain] as const] : [])));
}

function renderListed(item: EvaluationItem, domain: Domain | undefined, now: number, actions: Actions): TemplateResult {
  const inputs = [item, formatAgeOf(item.createdAt, now), ...(domain ?? [])];
  return renderWhenDue({ state: item.state, inputs, now, draw: () => renderRow(item, domain, now, actions) });
}

function renderRow(item: EvaluationItem, domain: Domain | undefined, now: number, actions: Actions): TemplateResult {
  const bar = toBar(item);
  return html`<tr class=${isOpen(item) ? 'open' : ''}>
    <td>${renderState(item)}</td>
    <td class="name">
      ${renderLink(actions, { ...ALL_EVALUATIONS, filter: { ...NO_FILTER, suite: item.suite } }, html`<bdi>${item.suite}</bdi>`)}
    </td>
    <th scope="row" class="name">${renderLink(actions, toEvaluation(item.id), html`<bdi>${formatCheckpoint(item)}</bdi>`)}</th>
    <td class="picture">${bar && domain ? renderIntervalBar(bar, domain, formatEstimate(item)) : nothing}</td>
    <td class="number">${formatEstimate(item)}</td>
    <td class="number episodes">${formatEpisodes(item)}</td>
    <td class="number">${formatRate(item)}</td>
    <td class="number">${formatEvaluationDuration(item)}</td>
    <td class="name"><bdi>${item.principal}</bdi></td>
    <td class="number">${renderAge(item.createdAt, now)}</td>
  </tr>`;
}

function renderEmptyList(state: PageState): TemplateResult {
  if (state.next === undefined) return html`<p class="muted">Reading …</p>`;
  return html`<div class="card empty">
    <h2>No evaluation here yet</h2>
    <p>Ask for one from a shell. It appears here at once.</p>
    <pre><code>muster submit SUITE -c policy.safetensors --run my-run --step 1000 --server ${location.origin}</code></pre>
  </div>`;
}
