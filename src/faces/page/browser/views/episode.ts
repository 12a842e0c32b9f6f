import { html, nothing, type TemplateResult } from 'lit-html';
import { formatCount, formatDuration } from '../../../../kernel/text/figures.ts';
import { formatOutcome } from '../../../../orchestrator/replay/outcome-text.ts';
import type { ReplayDocument } from '../../../../orchestrator/replay/replay-document.ts';
import type { EpisodeLine } from '../../../http/schemas/episode-schemas.ts';
import { renderCurve } from '../charts/curve.ts';
import type { Actions } from '../model/actions.ts';
import { toEvaluation, type Route } from '../model/route.ts';
import type { EpisodeDetail, PageState } from '../model/state.ts';
import { renderActed } from './acted.ts';
import { renderLink } from './link.ts';

type EpisodeRoute = Extract<Route, { view: 'episode' }>;

/** Renders everything that is known about one episode, and its replay. */
export function renderEpisode(state: PageState, route: EpisodeRoute, actions: Actions): TemplateResult {
  const { episode } = state;
  if (!episode || episode.line === undefined) return html`<p class="muted">Reading …</p>`;
  const back = renderLink(actions, toEvaluation(route.id, { arm: route.arm }), 'its evaluation');
  if (episode.line === null)
    return html`<div class="card empty">
      <h1>There is no episode ${formatCount(route.index)}</h1>
      <p>It has not ended yet, or was not needed. See ${back}.</p>
    </div>`;
  const suite = episode.evaluation?.suite ?? '';
  return html`<section aria-labelledby="episode">
    <div class="head">
      <h1 id="episode"><bdi>${suite}</bdi>, episode ${formatCount(route.index)}</h1>
      <p class="muted">of ${back}</p>
    </div>
    ${renderFacts(episode.line)} ${episode.acted ? renderActed(episode.acted) : nothing} ${renderOutput(episode.line)}
    ${renderReplayCard(state, episode, route, actions)}
  </section>`;
}

function renderFacts({ task, outcome, seconds, environmentSeed, policySeed, checkpoint }: EpisodeLine): TemplateResult {
  const rows = [
    ['outcome', formatOutcome(outcome)],
    ['task', task],
    ['environment seed', String(environmentSeed)],
    ['policy seed', String(policySeed)],
    ['time', formatDuration(seconds)],
    ['checkpoint', checkpoint],
  ];
  return html`<div class="card">
    <dl class="facts">
      ${rows.map(
        ([name, text]) =>
          html`<div>
            <dt>${name}</dt>
            <dd><bdi>${text}</bdi></dd>
          </div>`,
      )}
    </dl>
  </div>`;
}

function renderOutput({ log, withheld }: EpisodeLine): TemplateResult | typeof nothing {
  if (withheld) return html`<p class="muted">What its programs printed is for those who may use its checkpoint.</p>`;
  return log === undefined
    ? nothing
    : html`<div class="card">
        <h2>Output</h2>
        <pre>${log}</pre>
      </div>`;
}

function renderReplayCard(state: PageState, detail: EpisodeDetail, { id, index, arm }: EpisodeRoute, actions: Actions): TemplateResult {
  const { replay } = detail;
  const command = `muster replay ${id} ${index}${arm === 0 ? '' : ` --arm ${arm}`} --html episode.html --server ${location.origin}`;
  return html`<div class="card">
    <div class="head">
      <h2>Replay</h2>
      ${
        mayReplay(state, detail)
          ? html`<button type="button" ?disabled=${replay === 'playing'} @click=${actions.replay}>
              ${replay === undefined ? 'Play again' : replay === 'playing' ? 'Playing …' : 'Play once more'}
            </button>`
          : nothing
      }
    </div>
    ${detail.refused === undefined ? nothing : html`<p class="warning" role="alert">It could not be played again: ${detail.refused}</p>`}
    ${
      replay === undefined || replay === 'playing'
        ? html`<p class="muted">The episode is played again in a sandbox, with the same task and seeds. In a shell:</p>
            <pre><code>${command}</code></pre>`
        : renderReplay(replay, detail, actions)
    }
  </div>`;
}

function mayReplay({ session }: PageState, { evaluation }: EpisodeDetail): boolean {
  if (!session) return false;
  return session.role === 'operator' || (session.role === 'submitter' && session.principal === evaluation?.principal);
}

function renderReplay(replay: ReplayDocument, detail: EpisodeDetail, actions: Actions): TemplateResult {
  const { isSame, replayed: outcome, rewards, pictures, remarks } = replay;
  return html`<p role="status">
      <span class="state ${isSame ? 'finished' : 'failed'}">${isSame ? 'the same outcome' : 'not deterministic'}</span>
      ${isSame ? nothing : html`Played again: ${formatOutcome(outcome)}. Environment or policy draw from something that no seed decides.`}
    </p>
    ${remarks.map((remark) => html`<p class="muted">${remark}</p>`)}
    <div class="replayed">
      ${pictures.length > 0 ? renderFilm(pictures, detail, actions) : nothing} ${rewards.length > 1 ? renderRewardCurve(rewards) : nothing}
    </div>`;
}

function renderFilm(pictures: ReplayDocument['pictures'], { position, isRunning }: EpisodeDetail, actions: Actions): TemplateResult {
  const picture = pictures[Math.min(position, pictures.length - 1)];
  const onInput = ({ target }: Event): void => {
    if (target instanceof HTMLInputElement) actions.showPicture(Number(target.value));
  };
  return html`<figure class="film">
    <img src="data:image/png;base64,${picture?.png ?? ''}" alt="the environment after step ${picture?.step ?? 0}" />
    <figcaption class="controls">
      <button type="button" @click=${actions.runPictures}>${isRunning ? 'Pause' : 'Run'}</button>
      <label
        >step ${formatCount(picture?.step ?? 0)}
        <input type="range" min="0" max=${pictures.length - 1} .value=${String(position)} @input=${onInput}
      /></label>
    </figcaption>
  </figure>`;
}

function renderRewardCurve(rewards: ReplayDocument['rewards']): TemplateResult {
  return renderCurve({
    title: 'Reward by step',
    xLabel: 'steps',
    x: rewards.map((_, position) => position + 1),
    label: 'reward',
    mean: rewards,
    alternative: `The reward of each of ${rewards.length} steps.`,
  });
}
