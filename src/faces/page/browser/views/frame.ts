import { html, nothing, type TemplateResult } from 'lit-html';
import type { Actions } from '../model/actions.ts';
import { ALL_EVALUATIONS, type Route } from '../model/route.ts';
import type { PageState } from '../model/state.ts';
import { renderAccess } from './access.ts';
import { renderAgents } from './agents.ts';
import { renderBatches } from './batches.ts';
import { renderEpisode } from './episode.ts';
import { renderEvaluation } from './evaluation.ts';
import { renderLink } from './link.ts';
import { renderOverview } from './overview.ts';
import { renderPools } from './pools.ts';
import { renderStream } from './stream.ts';
import { renderStreams } from './streams.ts';
import { renderTranscript } from './transcript.ts';

export function renderPage(state: PageState, actions: Actions): TemplateResult {
  if (state.session === undefined) return html`<main><p class="muted">Reading …</p></main>`;
  if (state.session === null) return renderSignIn(state, actions);
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header>
      <nav aria-label="Views">
        <b class="brand">Muster</b>
        ${renderLink(actions, ALL_EVALUATIONS, 'Evaluations', ['overview', 'evaluation', 'episode'].includes(state.route.view))}
        ${renderLink(actions, { view: 'batches', name: '' }, 'Batches', state.route.view === 'batches')}
        ${renderLink(actions, { view: 'agents' }, 'Agents', state.route.view === 'agents' || state.route.view === 'agent')}
        ${renderLink(actions, { view: 'rollouts' }, 'Rollouts', state.route.view === 'rollouts' || state.route.view === 'stream')}
        ${renderLink(actions, { view: 'pools' }, 'Pools', state.route.view === 'pools')}
        ${state.session.role === 'operator' ? renderLink(actions, { view: 'access' }, 'Access', state.route.view === 'access') : nothing}
      </nav>
      <p class="session">
        <span class="connection ${state.connection}" role="status">${CONNECTION[state.connection]}</span>
        <bdi>${state.session.principal}</bdi>
        ${state.session.access === 'tokens' ? html`<button type="button" @click=${actions.signOut}>Sign out</button>` : nothing}
      </p>
    </header>
    <main id="main">
      ${
        state.problem === undefined
          ? nothing
          : html`<p class="warning" role="alert">
              ${state.problem} <button type="button" @click=${actions.dismissProblem}>Dismiss</button>
            </p>`
      }
      ${renderContent(state, state.route, actions)}
    </main>
    <footer>
      <p>Muster ${state.session.version} · <a href="/docs/">the API</a></p>
    </footer>
  `;
}

const CONNECTION: Readonly<Record<PageState['connection'], string>> = {
  connecting: 'connecting …',
  live: 'live',
  lost: 'connection lost; trying again',
};

function renderContent(state: PageState, route: Route, actions: Actions): TemplateResult {
  switch (route.view) {
    case 'overview':
      return renderOverview(state, route, actions);
    case 'evaluation':
      return renderEvaluation(state, route.id, actions);
    case 'episode':
      return renderEpisode(state, route, actions);
    case 'batches':
      return renderBatches(state, route.name, actions);
    case 'agents':
      return renderAgents(state, actions);
    case 'agent':
      return renderTranscript(state, route.id, actions);
    case 'rollouts':
      return renderStreams(state, actions);
    case 'stream':
      return renderStream(state, route.id, actions);
    case 'pools':
      return renderPools(state, actions);
    case 'access':
      return renderAccess(state);
    case 'unknown':
      return html`<div class="card empty">
        <h1>There is no page ${route.path}</h1>
        <p>${renderLink(actions, ALL_EVALUATIONS, 'Show all evaluations')}</p>
      </div>`;
  }
}

function renderSignIn(state: PageState, actions: Actions): TemplateResult {
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const token = new FormData(event.target).get('token');
    if (typeof token === 'string' && token.trim() !== '') actions.signIn(token.trim());
  };
  return html`<main class="sign-in">
    <form class="card" @submit=${onSubmit}>
      <h1>Muster</h1>
      ${state.problem === undefined ? nothing : html`<p class="warning" role="alert">${state.problem}</p>`}
      <input type="text" name="user" autocomplete="username" hidden />
      <label>Token <input name="token" type="password" autocomplete="current-password" required placeholder="muster_…" /></label>
      <button>Sign in</button>
      <p class="muted">An operator makes tokens with <code>muster token create NAME --role viewer</code>.</p>
    </form>
  </main>`;
}
