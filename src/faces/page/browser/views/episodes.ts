import { html, nothing, type TemplateResult } from 'lit-html';
import { formatCount, formatDuration } from '../../../../kernel/text/figures.ts';
import type { EpisodeLine, EvaluationResource } from '../../../http/schemas/evaluation-schemas.ts';
import type { Actions } from '../model/actions.ts';
import { EPISODES_A_PAGE } from '../model/api.ts';
import type { Detail } from '../model/state.ts';
import { link } from './link.ts';

export interface Place {
  /** First index of the page. */
  readonly from: number;
  /** Of a comparison: 0 for the baseline, 1, 2, … for the candidates. */
  readonly arm: number;
}

/** The episodes of an evaluation, a page at a time, by index. */
export function renderEpisodeTable({ episodes }: Detail, evaluation: EvaluationResource, place: Place, actions: Actions): TemplateResult {
  return html`<section aria-labelledby="episodes">
    <div class="head">
      <h2 id="episodes">Episodes</h2>
      ${evaluation.kind === 'comparison' ? arms(evaluation, place, actions) : nothing} ${pages(episodes, evaluation.id, place, actions)}
    </div>
    ${
      episodes.length === 0
        ? html`<p class="muted">${place.from === 0 ? 'No episode has ended yet.' : 'There are no episodes from here on.'}</p>`
        : rows(episodes)
    }
  </section>`;
}

function arms({ id, checkpoints }: EvaluationResource, { arm }: Place, actions: Actions): TemplateResult {
  return html`<nav class="pages" aria-label="Checkpoints">
    ${checkpoints.map(({ part }, position) =>
      link(
        actions,
        { view: 'evaluation', id, from: 0, arm: position },
        part === 'baseline' ? part : `${part} ${position}`,
        position === arm,
      ),
    )}
  </nav>`;
}

function pages(episodes: readonly EpisodeLine[], id: string, { from, arm }: Place, actions: Actions): TemplateResult {
  const last = episodes.at(-1)?.index;
  const earlier = Math.max(0, from - EPISODES_A_PAGE);
  return html`<nav class="pages" aria-label="Pages of episodes">
    ${from > 0 ? link(actions, { view: 'evaluation', id, from: earlier, arm }, 'Earlier') : nothing}
    ${
      last !== undefined && episodes.length === EPISODES_A_PAGE
        ? link(actions, { view: 'evaluation', id, from: last + 1, arm }, 'Later')
        : nothing
    }
  </nav>`;
}

function rows(episodes: readonly EpisodeLine[]): TemplateResult {
  return html`<div class="card scroll" tabindex="0" role="region" aria-label="Table of episodes">
    <table>
      <thead>
        <tr>
          <th class="number">Index</th>
          <th>Task</th>
          <th>Outcome</th>
          <th class="number">Return</th>
          <th class="number">Steps</th>
          <th class="number">Time</th>
          <th class="number">Seeds: environment, policy</th>
          <th>Said</th>
        </tr>
      </thead>
      <tbody>
        ${episodes.map(row)}
      </tbody>
    </table>
  </div>`;
}

function row({ index, task, outcome, seconds, environmentSeed, policySeed, log, withheld }: EpisodeLine): TemplateResult {
  const completed = outcome.kind === 'completed' ? outcome : undefined;
  const said = [outcome.kind === 'completed' ? '' : outcome.detail, log ?? ''].filter((text) => text !== '').join('\n');
  return html`<tr class=${outcome.kind}>
    <th scope="row" class="number">${formatCount(index)}</th>
    <td class="name"><bdi>${task}</bdi></td>
    <td>${outcome.kind === 'failed' ? outcome.cause : outcome.kind}</td>
    <td class="number">${completed ? completed.return : '–'}</td>
    <td class="number">${completed ? formatCount(completed.length) : '–'}</td>
    <td class="number">${formatDuration(seconds)}</td>
    <td class="number">${environmentSeed}, ${policySeed}</td>
    <td class="said">
      ${
        withheld
          ? 'withheld'
          : said === ''
            ? nothing
            : html`<details>
                <summary>show</summary>
                <pre>${said}</pre>
              </details>`
      }
    </td>
  </tr>`;
}
