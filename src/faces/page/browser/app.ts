import { render } from 'lit-html';
import { followAll, unfollowAll } from './following.ts';
import type { Actions } from './model/actions.ts';
import * as api from './model/api.ts';
import { formatRoute, parseRoute } from './model/route.ts';
import { createInitialState, type PageState } from './model/state.ts';
import { formatTitle } from './model/wording.ts';
import { readDiff } from './readers.ts';
import { runPictures, showPicture } from './replaying.ts';
import { cancelEvaluation, cancelStream, readOn, replay, show, stopReading } from './showing.ts';
import type { Store } from './store.ts';
import { renderPage } from './views/frame.ts';

/** The page in a browser: holds the state, and draws it at most once a frame. */

/** Milliseconds between two drawings of what streams send: a new reader receives all events of an evaluation at once. */
const HEARD_MILLISECONDS = 400;
/** Ages are shown in seconds. */
const CLOCK_MILLISECONDS = 1000;

const root = document.getElementById('page') ?? document.body;
let state = createInitialState(parseRoute(new URL(location.href)), Date.now());
let isDrawing = false;
let drawnAt = 0;
/** Draws what was received. */
let soon: ReturnType<typeof setTimeout> | undefined;

const store: Store = {
  get state() {
    return state;
  },
  update,
  receive,
  run,
};

const actions: Actions = {
  signIn: (token) => run(async () => begin(await api.beginSession(token))),
  signOut: () =>
    run(async () => {
      await api.endSession();
      end(undefined);
    }),
  go: (route) => {
    history.pushState(undefined, '', formatRoute(route));
    show(store, route);
  },
  readMore: () => run(() => readOn(store)),
  cancel: (id) => run(() => cancelEvaluation(id)),
  cancelStream: (id) => run(() => cancelStream(id)),
  replay: () => run(() => replay(store)),
  showPicture: (position) => showPicture(store, position),
  runPictures: () => runPictures(store),
  changePool: (name, change) => run(async () => void (await api.changePool(name, change))),
  readDiff: (step) => run(() => readDiff(store, step)),
  dismissProblem: () => update({ problem: undefined }),
};

function update(change: Partial<PageState>): void {
  renew(change);
  clearTimeout(soon);
  soon = undefined;
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(draw);
}

function receive(change: Partial<PageState>): void {
  renew(change);
  if (isDrawing || soon !== undefined) return;
  soon = setTimeout(() => update({}), Math.max(0, drawnAt + HEARD_MILLISECONDS - performance.now()));
}

function renew(change: Partial<PageState>): void {
  state = { ...state, now: api.readServerTime() ?? state.now, ...change };
}

function draw(): void {
  isDrawing = false;
  drawnAt = performance.now();
  const isNewForm = state.session === null && findTokenField() === null;
  render(renderPage(state, actions), root);
  // This replaces the attribute "autofocus": browsers report an error when the person has set the focus first.
  if (isNewForm && document.activeElement === document.body) findTokenField()?.focus();
  document.title = state.session ? formatTitle(state) : 'Muster';
}

function findTokenField(): HTMLInputElement | null {
  return root.querySelector<HTMLInputElement>('.sign-in input[name=token]');
}

function run(work: () => Promise<void>): void {
  work().catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    if (error instanceof api.Refusal && error.status === 401) return end(error.code === 'access.missing' ? undefined : error.message);
    update({ problem: error instanceof Error ? error.message : String(error) });
  });
}

function begin(session: api.Session): void {
  update({ session, problem: undefined });
  follow();
  show(store, state.route);
}

function follow(): void {
  followAll(store, Math.random, () => show(store, state.route));
}

function end(problem: string | undefined): void {
  unfollowAll();
  stopReading();
  // Clears what one reader may see before the next one.
  state = { ...createInitialState(state.route, Date.now()), session: null };
  update({ problem });
}

/** A browser has six connections to one server, for all of its tabs: a hidden tab closes its streams, and catches up when it is visible. */
document.addEventListener('visibilitychange', () => {
  if (!state.session) return;
  if (document.visibilityState === 'visible') {
    follow();
    return show(store, state.route);
  }
  unfollowAll();
  update({ connection: 'connecting', detail: undefined });
});
addEventListener('popstate', () => show(store, parseRoute(new URL(location.href))));
// A drawing for another reason shows the present time.
setInterval(
  () => document.visibilityState === 'visible' && performance.now() - drawnAt >= CLOCK_MILLISECONDS && update({}),
  CLOCK_MILLISECONDS,
);
update({});
// The content of the address is requested along with the session: without a valid token both are refused.
const session = api.getSession();
show(store, state.route);
run(async () => {
  update({ session: await session });
  follow();
  // The reader's rights are not known before.
  if (state.route.view === 'access') show(store, state.route);
});
