import { html, nothing, type TemplateResult } from 'lit-html';
import { formatBytes, formatCount, formatWaiting } from '../../../../kernel/text/figures.ts';
import type { Pool } from '../../../http/schemas/pool-schemas.ts';
import type { Actions } from '../model/actions.ts';
import { SANDBOX_STATES } from '../../../client/live-board.ts';
import type { PageState } from '../model/state.ts';
import { renderAge } from '../model/wording.ts';
import { renderFigures } from './figures.ts';

const LOST = 'lost in the last minute';
/** The descriptions of lost sandboxes, which are often equal. */
const MOST_LOST_TOLD = 3;
/** Beyond this number, one cell represents several sandboxes. */
const MOST_CELLS = 600;

/** Renders all pools in one row. */
export function renderPoolSummary(pools: readonly Pool[]): TemplateResult {
  const busy = pools.reduce((sum, { sandboxes }) => sum + sandboxes.leased, 0);
  const max = pools.reduce((sum, pool) => sum + pool.max, 0);
  const waiting = pools.reduce((sum, pool) => sum + pool.waiting, 0);
  return html`<p class="muted">
    ${formatCount(busy)} of ${formatCount(max)} sandboxes busy${waiting > 0 ? html` · ${formatWaiting(waiting)}` : nothing}
  </p>`;
}

export function renderPools({ pools, session, now }: PageState, actions: Actions): TemplateResult {
  const mayChange = session?.role === 'operator';
  return html`<section aria-labelledby="pools">
    <div class="head"><h1 id="pools">Pools</h1></div>
    ${pools.length === 0 ? html`<p class="muted">Reading …</p>` : pools.map((pool) => renderPoolCard(pool, { mayChange, now }, actions))}
  </section>`;
}

interface Looker {
  readonly mayChange: boolean;
  readonly now: number;
}

function renderPoolCard(pool: Pool, { mayChange, now }: Looker, actions: Actions): TemplateResult {
  const { name, provider, min, max, warm, phase, waiting, totals, obstacles, lost, lastErrors, draining } = pool;
  const errors = Object.entries(lastErrors).filter(([, text]) => text !== null);
  return html`<article class="card pool" aria-label="pool ${name}">
    <div class="head">
      <h2><bdi>${name}</bdi></h2>
      <span class="state ${draining ? 'waiting' : phase}">${draining ? 'draining' : phase}</span>
      <p class="muted">${provider} · at least ${min}, at most ${max}, ${warm} kept warm · ${formatWaiting(waiting)}</p>
      ${mayChange ? renderPoolControls(pool, actions) : nothing}
    </div>
    ${renderCells(pool)}
    ${obstacles.map(
      ({ kind, sandboxes, detail }) =>
        html`<p class="warning"><b>${kind}</b> keeps ${sandboxes} sandboxes from getting ready: ${detail}</p>`,
    )}
    ${lost
      .slice(-MOST_LOST_TOLD)
      .map(({ sandbox, at, detail }) => html`<p class="warning"><b>lost</b> <code>${sandbox}</code> ${renderAge(at, now)}: ${detail}</p>`)}
    ${errors.map(([what, text]) => html`<p class="warning"><b>last failed ${what}</b>: ${text}</p>`)} ${renderFigures(listUsage(pool))}
    ${renderFigures(Object.entries(totals).map(([event, count]) => [event, formatCount(count)]))}
  </article>`;
}

/** The sum of the sandboxes' peak memory, not their present use: providers count peaks. */
function listUsage({ usage }: Pool): readonly (readonly [name: string, text: string])[] {
  if (usage === null) return [];
  const { sandboxes, processors, memoryBytes, largestMemoryBytes } = usage;
  return [
    ['processors in use', processors === null ? '–' : processors.toFixed(2)],
    ['memory, peaks together', formatBytes(memoryBytes)],
    ['largest peak', formatBytes(largestMemoryBytes)],
    ['sandboxes measured', formatCount(sandboxes)],
  ];
}

function renderPoolControls({ name, draining, max }: Pool, actions: Actions): TemplateResult {
  const onScale = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const wanted = Number(new FormData(event.target).get('max'));
    if (Number.isInteger(wanted) && wanted > 0) actions.changePool(name, { max: wanted });
  };
  return html`<form class="controls" @submit=${onScale}>
    <label>at most <input name="max" type="number" min="1" max="100000" .value=${String(max)} /></label>
    <button>Scale</button>
    <button type="button" @click=${() => actions.changePool(name, { draining: !draining })}>${draining ? 'Resume' : 'Drain'}</button>
  </form>`;
}

/** Renders one cell a sandbox, in the order of `SANDBOX_STATES`, then free slots up to the maximum, then lost sandboxes, which no longer take a slot. */
function renderCells({ sandboxes, lost, max }: Pool): TemplateResult {
  const total = SANDBOX_STATES.reduce((sum, [state]) => sum + sandboxes[state], 0);
  const perCell = Math.ceil(Math.max(total, max) / MOST_CELLS);
  const drawn = SANDBOX_STATES.flatMap(([state]) => Array<string>(Math.ceil(sandboxes[state] / perCell)).fill(state));
  const free = Math.max(0, Math.ceil(max / perCell) - drawn.length);
  const gone = Math.ceil(lost.length / perCell);
  const words = [...SANDBOX_STATES.map(([state, word]) => `${sandboxes[state]} ${word}`), `${lost.length} ${LOST}`].join(', ');
  return html`<div class="cells" role="img" aria-label="${words}">
      ${drawn.map((state) => html`<i class=${state}></i>`)} ${Array.from({ length: free }, () => html`<i class="free"></i>`)}
      ${Array.from({ length: gone }, () => html`<i class="lost"></i>`)}
    </div>
    <ul class="legend">
      ${SANDBOX_STATES.map(([state, word]) => html`<li><i class=${state}></i>${formatCount(sandboxes[state])} ${word}</li>`)}
      <li><i class="lost"></i>${formatCount(lost.length)} ${LOST}</li>
      ${perCell > 1 ? html`<li>a cell stands for ${perCell} sandboxes</li>` : nothing}
    </ul>`;
}
