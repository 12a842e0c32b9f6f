import { html, nothing, type TemplateResult } from 'lit-html';
import { EPISODE_RANKINGS } from '../../../../evaluation-store/episode-log.ts';
import { formatCount, formatDuration } from '../../../../kernel/text/figures.ts';
import type { EpisodeLine } from '../../../http/schemas/episode-schemas.ts';
import type { EvaluationResource } from '../../../http/schemas/evaluation-schemas.ts';
import type { Actions } from '../model/actions.ts';
import { EPISODES_A_PAGE } from '../model/api.ts';
import type { Detail } from '../model/state.ts';
import { type Ranking, toEvaluation } from '../model/route.ts';
import { renderLink } from './link.ts';
import { renderTable, listNumbers } from './figures.ts';

export interface EpisodePage {
  /** The first index of the page, or the first position in the ranking. */
  readonly from: number;
  readonly ranking: Ranking;
  /** The arm of a comparison: 0 for the baseline, 1, 2, … for the candidates. */
  readonly arm: number;
  /** Ids of evaluations that stay beside it. */
  readonly beside: readonly string[];
}

const RANKING_WORDS: Readonly<Record<Ranking, string>> = {
  '': 'by index',
  worst: 'worst return first',
  best: 'best return first',
  longest: 'most steps first',
  slowest: 'slowest first',
  discordant: 'farthest from the baseline first',
  failed: 'failed ones',
};

/** Renders the episodes of an evaluation, a page at a time, by index or as a ranking has them. */
export function renderEpisodeTable(
  { episodes }: Detail,
  evaluation: EvaluationResource,
  place: EpisodePage,
  actions: Actions,
): TemplateResult {
  return html`<section aria-labelledby="episodes">
    <div class="head">
      <h2 id="episodes">Episodes</h2>
      ${evaluation.kind === 'comparison' ? renderArms(evaluation, place, actions) : nothing}
      ${renderRankings(evaluation.id, place, actions)} ${renderPages(episodes, evaluation.id, place, actions)}
    </div>
    ${episodes.length === 0 ? html`<p class="muted">${formatEmpty(place, evaluation)}</p>` : renderRows(episodes, evaluation.id, place.arm, actions)}
  </section>`;
}

function formatEmpty({ from, ranking }: EpisodePage, { endedAt }: EvaluationResource): string {
  if (from > 0) return 'There are no episodes from here on.';
  if (ranking === '') return endedAt === null ? 'No episode has ended yet.' : 'There are no episodes.';
  return `There are none (${RANKING_WORDS[ranking]}).`;
}

function renderRankings(id: string, { arm, ranking, beside }: EpisodePage, actions: Actions): TemplateResult {
  const offered = (['', ...EPISODE_RANKINGS] as const).filter((each) => each !== 'discordant' || arm > 0);
  const onChange = ({ target }: Event): void => {
    const chosen = target instanceof HTMLSelectElement ? offered.find((each) => each === target.value) : undefined;
    if (chosen !== undefined) actions.go(toEvaluation(id, { arm, beside, ranking: chosen }));
  };
  return html`<label class="filters"
    >Order
    <select @change=${onChange}>
      ${offered.map((each) => html`<option value=${each} .selected=${each === ranking}>${RANKING_WORDS[each]}</option>`)}
    </select>
  </label>`;
}

function renderArms({ id, checkpoints }: EvaluationResource, { arm, beside }: EpisodePage, actions: Actions): TemplateResult {
  return html`<nav class="pages" aria-label="Checkpoints">
    ${checkpoints.map(({ part }, position) =>
      renderLink(
        actions,
        toEvaluation(id, { arm: position, beside }),
        part === 'baseline' ? part : `${part} ${position}`,
        position === arm,
      ),
    )}
  </nav>`;
}

function renderPages(
  episodes: readonly EpisodeLine[],
  id: string,
  { from, arm, ranking, beside }: EpisodePage,
  actions: Actions,
): TemplateResult {
  const last = ranking === '' ? episodes.at(-1)?.index : from + episodes.length - 1;
  const earlier = Math.max(0, from - EPISODES_A_PAGE);
  return html`<nav class="pages" aria-label="Pages of episodes">
    ${from > 0 ? renderLink(actions, toEvaluation(id, { from: earlier, arm, ranking, beside }), 'Earlier') : nothing}
    ${
      last !== undefined && episodes.length === EPISODES_A_PAGE
        ? renderLink(actions, toEvaluation(id, { from: last + 1, arm, ranking, beside }), 'Later')
        : nothing
    }
  </nav>`;
}

function renderRows(episodes: readonly EpisodeLine[], id: string, arm: number, actions: Actions): TemplateResult {
  return renderTable(
    'Table of episodes',
    [...listNumbers('Index'), 'Task', 'Outcome', ...listNumbers('Return', 'Steps', 'Time', 'Seeds: environment, policy'), 'Said'],
    episodes.map((episode) =>
      renderRow(episode, renderLink(actions, { view: 'episode', id, index: episode.index, arm }, formatCount(episode.index))),
    ),
  );
}

function renderRow(
  { task, outcome, seconds, environmentSeed, policySeed, log, withheld }: EpisodeLine,
  index: TemplateResult,
): TemplateResult {
  const completed = outcome.kind === 'completed' ? outcome : undefined;
  const said = [outcome.kind === 'completed' ? '' : outcome.detail, log ?? ''].filter((text) => text !== '').join('\n');
  return html`<tr class=${outcome.kind}>
    <th scope="row" class="number">${index}</th>
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
