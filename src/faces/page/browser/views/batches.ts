import { html, nothing, type TemplateResult } from 'lit-html';
import { isOpen } from '../../../client/live-board.ts';
import type { EvaluationItem } from '../../../http/schemas/evaluation-schemas.ts';
import type { Actions } from '../model/actions.ts';
import { groupBatches, listCells, type Batch } from '../model/batch.ts';
import type { PageState } from '../model/state.ts';
import { formatEstimate, formatCheckpoint, renderState } from '../model/wording.ts';
import { toEvaluation } from '../model/route.ts';
import { renderLink } from './link.ts';

/** Renders jobs of many evaluations: the progress of each, and for one the table of checkpoints by suites. */
export function renderBatches(state: PageState, name: string, actions: Actions): TemplateResult {
  if (state.next === undefined) return html`<p class="muted">Reading …</p>`;
  const batches = groupBatches([...state.evaluations.values()]);
  const shown = name === '' ? batches : batches.filter((batch) => batch.name === name);
  return html`<section aria-labelledby="batches">
    <div class="head">
      <h1 id="batches">${name === '' ? 'Batches' : html`<bdi>${name}</bdi>`}</h1>
      ${name === '' ? nothing : html`<p class="muted">${renderLink(actions, { view: 'batches', name: '' }, 'all batches')}</p>`}
    </div>
    ${shown.length === 0 ? renderEmpty(name) : shown.map((batch) => renderBatch(batch, name !== '', actions))}
  </section>`;
}

function renderBatch(batch: Batch, isWhole: boolean, actions: Actions): TemplateResult {
  const { name, items } = batch;
  const ended = items.filter((item) => !isOpen(item)).length;
  const count = (state: EvaluationItem['state']): number => items.filter((item) => item.state === state).length;
  const states = (['running', 'waiting', 'finished', 'failed', 'cancelled'] as const).filter((state) => count(state) > 0);
  return html`<article class="card answer" aria-label="batch ${name}">
    <div class="head">
      ${isWhole ? nothing : html`<h2>${renderLink(actions, { view: 'batches', name }, html`<bdi>${name}</bdi>`)}</h2>`}
      <p>
        <progress max=${items.length} .value=${ended} aria-label="evaluations of ${name} that are over"></progress>${ended} of
        ${items.length} over
      </p>
      ${states.map((state) => html`<span class="state ${state}">${count(state)} ${state}</span>`)}
    </div>
    ${isWhole ? renderCells(items, actions) : nothing}
  </article>`;
}

function renderCells(items: readonly EvaluationItem[], actions: Actions): TemplateResult {
  const { suites, rows } = listCells(items);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Checkpoints by suites">
    <table>
      <thead>
        <tr>
          <th>Checkpoint</th>
          ${suites.map((suite) => html`<th class="number"><bdi>${suite}</bdi></th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ cells }) =>
            html`<tr>
              <th scope="row" class="name"><bdi>${cells.flatMap((cell) => (cell ? [formatCheckpoint(cell)] : []))[0] ?? ''}</bdi></th>
              ${cells.map((cell) => html`<td class="number">${cell ? renderCell(cell, actions) : '–'}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function renderCell(item: EvaluationItem, actions: Actions): TemplateResult {
  const text = item.running === null ? item.state : formatEstimate(item);
  return html`${renderLink(actions, toEvaluation(item.id), text)} ${item.state === 'finished' ? nothing : renderState(item)}`;
}

function renderEmpty(name: string): TemplateResult {
  return html`<div class="card empty">
    <h2>${name === '' ? 'No batch here yet' : 'There is no such batch among what the server keeps'}</h2>
    <p>A batch evaluates every checkpoint on every suite, as one job. Begin one from a shell:</p>
    <pre><code>muster submit --batch batch.yaml --server ${location.origin}</code></pre>
  </div>`;
}
