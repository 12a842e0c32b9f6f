import { render } from 'lit-html';
import { isOpen } from '../../client/live-board.ts';
import type { LiveMessage } from '../../http/schemas/live-schemas.ts';
import { changeDetail, ignoreNotFound, readAgents, readDiff, readPairs, readTranscript, type Store } from './readers.ts';
import type { Actions } from './model/actions.ts';
import * as api from './model/api.ts';
import { formatRoute, parseRoute, type Route } from './model/route.ts';
import { applyList, applyMessage, toCoursePoint, createInitialState, type CoursePoint, type PageState } from './model/state.ts';
import { extendCourses } from './model/comparison.ts';
import { readEpisode, replayShown, runPictures, showPicture } from './replaying.ts';
import { renderPage } from './views/frame.ts';
import { formatTitle } from './model/wording.ts';

/** The page in a browser: reads what its address names, follows the server's one stream of changes, and draws the state at most once a frame. */

const PAGE_ITEMS = '100';
/** Ages are shown in seconds. */
const CLOCK_MILLISECONDS = 1000;
/** After a broken stream, so that a restarting server is not asked by all pages at once. */
const RETRY_MILLISECONDS = [1000, 3000] as const;

const root = document.getElementById('page') ?? document.body;
let state = createInitialState(parseRoute(new URL(location.href)), Date.now());
let isDrawing = false;
let drawnAt = 0;
let stream: EventSource | undefined;
let events: EventSource | undefined;
/** Aborted when the page goes on to something else. */
let reading = new AbortController();

/** For readers: the state as it is when they look. */
const store: Store = {
  get state() {
    return state;
  },
  update,
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
    show(route);
  },
  readMore: () => run(readOn),
  cancel: (id) => {
    if (confirm('Cancel this evaluation? The episodes that count by now are kept.')) run(async () => void (await api.cancelEvaluation(id)));
  },
  replay: () => run(() => replayShown(store, reading.signal)),
  showPicture: (position) => showPicture(store, position),
  runPictures: () => runPictures(store),
  changePool: (name, change) => run(async () => void (await api.changePool(name, change))),
  readDiff: (step) => run(() => readDiff(store, step)),
  dismissProblem: () => update({ problem: undefined }),
};

function update(change: Partial<PageState>): void {
  state = { ...state, now: api.readServerTime() ?? state.now, ...change };
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    drawnAt = performance.now();
    render(renderPage(state, actions), root);
    document.title = state.session ? formatTitle(state) : 'Muster';
  });
}

/** What goes wrong is shown to the reader; without a good token, the form is. */
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
  show(state.route);
}

function end(problem: string | undefined): void {
  stream?.close();
  events?.close();
  reading.abort();
  // What one reader may see is not left for the next.
  state = { ...createInitialState(state.route, Date.now()), session: null };
  update({ problem });
}

/** Reads what the route shows. */
function show(route: Route): void {
  reading.abort();
  reading = new AbortController();
  const before = state.route;
  update({ route });
  if (route.view !== before.view) scrollTo(0, 0);
  switch (route.view) {
    case 'overview':
      events?.close();
      return run(() => readList(undefined));
    case 'evaluation':
      return run(() => readEvaluation(route, reading.signal));
    case 'episode':
      events?.close();
      return run(() => readEpisode(store, route, reading.signal));
    case 'batches':
      events?.close();
      return run(() => readList(undefined));
    case 'agents':
      events?.close();
      return run(() => readAgents(store, undefined));
    case 'agent':
      return run(() => followTranscript(route.id, reading.signal));
    case 'access':
      if (state.session?.role === 'operator') run(readAccess);
      return;
    case 'pools':
    case 'unknown':
      return;
  }
}

async function readAccess(): Promise<void> {
  const [{ items: audit }, { items: tokens }, { items: quotas }] = await Promise.all([api.listAudit(), api.listTokens(), api.listQuotas()]);
  update({ access: { audit, tokens, quotas } });
}

/** What comes behind the last of what is listed. */
async function readOn(): Promise<void> {
  switch (state.route.view) {
    case 'agents':
      return readAgents(store, state.agents?.next ?? undefined);
    case 'agent':
      return readTranscript(store, state.route.id, reading.signal);
    default:
      return readList(state.next ?? undefined);
  }
}

async function readList(after: string | undefined): Promise<void> {
  const { route } = state;
  const filter = route.view === 'overview' ? Object.entries(route.filter).filter(([, value]) => value !== '') : [];
  if (route.view === 'batches' && route.name !== '') filter.push(['label', `batch=${route.name}`]);
  const query = { limit: PAGE_ITEMS, ...Object.fromEntries(filter), ...(after === undefined ? {} : { after }) };
  const { items, next } = await api.listEvaluations(query);
  state = applyList(state, items, next, false);
  update({});
}

async function readEvaluation(place: Extract<Route, { view: 'evaluation' }>, signal: AbortSignal): Promise<void> {
  const { id } = place;
  const isAnother = state.detail?.id !== id;
  if (isAnother) {
    events?.close();
    update({ detail: { id, evaluation: undefined, course: [], differences: new Map(), pairs: [], episodes: [] } });
  }
  const [evaluation, episodes] = await Promise.all([
    ignoreNotFound(api.getEvaluation(id)),
    ignoreNotFound(api.listEpisodes(id, place, signal)),
  ]);
  if (signal.aborted) return;
  changeDetail(store, id, { evaluation, episodes: episodes ?? [] });
  if (isAnother && evaluation) followCourse(id);
  if (evaluation?.kind === 'comparison') await readPairs(store, place, signal);
}

/** The course so far, and as it goes on: the events of one evaluation are kept by the server, so that a late reader has all of them. */
function followCourse(id: string): void {
  events?.close();
  const source = (events = new EventSource(`/v1/evaluations/${encodeURIComponent(id)}/events`));
  const course: CoursePoint[] = [];
  source.addEventListener('progress', ({ data }: MessageEvent<string>) => {
    const { data: figures }: { data: Parameters<typeof toCoursePoint>[0] } = JSON.parse(data);
    const { detail } = state;
    if (detail?.id === id) changeDetail(store, id, { differences: extendCourses(detail.differences, figures) });
    const point = toCoursePoint(figures);
    if (!point) return;
    // A resumed evaluation folds its stored episodes again.
    while ((course.at(-1)?.episodes ?? -1) >= point.episodes) course.pop();
    course.push(point);
    changeDetail(store, id, { course: [...course] });
  });
  source.addEventListener('state', () => {
    const { route } = state;
    if (route.view === 'evaluation' && route.id === id) run(() => readEvaluation(route, reading.signal));
  });
  // It ends with the evaluation, and comes back by itself when it broke.
  source.addEventListener('error', () => {
    if (state.detail?.evaluation && !isOpen(state.detail.evaluation)) source.close();
  });
}

/** An agent's episode, and its steps as they are taken. */
async function followTranscript(id: string, signal: AbortSignal): Promise<void> {
  events?.close();
  await readTranscript(store, id, signal);
  const { transcript } = state;
  if (signal.aborted || !transcript?.episode || transcript.episode.state === 'closed') return;
  const after = transcript.steps.at(-1)?.answer.step ?? 0;
  const source = (events = new EventSource(`/v1/episodes/${encodeURIComponent(id)}/events?after=${after}`));
  const readOn = (): void => run(() => readTranscript(store, id, signal));
  source.addEventListener('step', readOn);
  source.addEventListener('closed', () => {
    source.close();
    readOn();
  });
}

/** One stream for the whole page. What was missed while it was broken is read again. */
function follow(): void {
  stream?.close();
  const source = (stream = new EventSource('/v1/live'));
  let wasLost = state.connection === 'lost';
  source.addEventListener('changes', ({ data }: MessageEvent<string>) => {
    const message: LiveMessage = JSON.parse(data);
    state = applyMessage(state, message);
    update({ connection: 'live' });
    if (message.isIncomplete || wasLost) show(state.route);
    wasLost = false;
  });
  source.addEventListener('error', () => {
    if (stream !== source) return;
    source.close();
    update({ connection: 'lost' });
    const [least, most] = RETRY_MILLISECONDS;
    setTimeout(() => stream === source && run(async () => reconnect()), least + Math.random() * (most - least));
  });
}

/** A stream does not say why it ended: the session does. */
async function reconnect(): Promise<void> {
  try {
    update({ session: await api.getSession() });
  } catch (error) {
    if (error instanceof api.Refusal && error.status === 401) throw error;
  }
  follow();
}

/** A browser has six connections to one server, for all of its tabs: one that is not looked at gives back its streams, and catches up when it is. */
document.addEventListener('visibilitychange', () => {
  if (!state.session) return;
  if (document.visibilityState === 'visible') {
    follow();
    return show(state.route);
  }
  stream?.close();
  stream = undefined;
  events?.close();
  update({ connection: 'connecting', detail: undefined });
});
addEventListener('popstate', () => show(parseRoute(new URL(location.href))));
// What is drawn for another reason has the time of then.
setInterval(
  () => document.visibilityState === 'visible' && performance.now() - drawnAt >= CLOCK_MILLISECONDS && update({}),
  CLOCK_MILLISECONDS,
);
update({});
run(async () => begin(await api.getSession()));
