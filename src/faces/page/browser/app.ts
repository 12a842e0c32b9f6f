import { render } from 'lit-html';
import { isOpen } from '../../client/live-board.ts';
import type { LiveMessage } from '../../http/schemas/live-schemas.ts';
import type { Actions } from './model/actions.ts';
import * as api from './model/api.ts';
import { formatRoute, parseRoute, type Route } from './model/route.ts';
import {
  applyList,
  applyMessage,
  toCoursePoint,
  createInitialState,
  type CoursePoint,
  UNREAD_EPISODE,
  type Detail,
  type EpisodeDetail,
  type PageState,
} from './model/state.ts';
import { renderPage } from './views/frame.ts';
import { formatTitle } from './model/wording.ts';

/** The page in a browser: reads what its address names, follows the server's one stream of changes, and draws the state at most once a frame. */

const PAGE_ITEMS = '100';
/** Ages are shown in seconds. */
const CLOCK_MILLISECONDS = 1000;
/** After a broken stream, so that a restarting server is not asked by all pages at once. */
const PICTURE_MILLISECONDS = 100;
const RETRY_MILLISECONDS = [1000, 3000] as const;

const root = document.getElementById('page') ?? document.body;
let state = createInitialState(parseRoute(new URL(location.href)), Date.now());
let isDrawing = false;
let stream: EventSource | undefined;
let events: EventSource | undefined;
let nextPicture: ReturnType<typeof setTimeout> | undefined;
/** Aborted when the page goes on to something else. */
let reading = new AbortController();

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
  readMore: () => run(() => readList(state.next ?? undefined)),
  cancel: (id) => {
    if (confirm('Cancel this evaluation? The episodes that count by now are kept.')) run(async () => void (await api.cancelEvaluation(id)));
  },
  replay: () => run(() => replayShown(reading.signal)),
  showPicture: (position) => changeEpisode({ position, isRunning: false }),
  runPictures: () => {
    const { episode } = state;
    if (!episode || typeof episode.replay !== 'object') return;
    const isAtEnd = episode.position >= episode.replay.pictures.length - 1;
    changeEpisode({ isRunning: !episode.isRunning, position: isAtEnd ? 0 : episode.position });
    runOn();
  },
  changePool: (name, change) => run(async () => void (await api.changePool(name, change))),
  dismissProblem: () => update({ problem: undefined }),
};

function update(change: Partial<PageState>): void {
  state = { ...state, ...change };
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
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
      return run(() => readEpisode(route, reading.signal));
    case 'access':
      if (state.session?.role === 'operator')
        run(async () => {
          const [{ items: audit }, { items: tokens }] = await Promise.all([api.listAudit(), api.listTokens()]);
          update({ access: { audit, tokens } });
        });
      return;
    case 'pools':
    case 'unknown':
      return;
  }
}

async function readList(after: string | undefined): Promise<void> {
  const filter = state.route.view === 'overview' ? Object.entries(state.route.filter).filter(([, value]) => value !== '') : [];
  const query = { limit: PAGE_ITEMS, ...Object.fromEntries(filter), ...(after === undefined ? {} : { after }) };
  const { items, next } = await api.listEvaluations(query);
  state = applyList(state, items, next, false);
  update({});
}

async function readEpisode({ id, index, arm }: Extract<Route, { view: 'episode' }>, signal: AbortSignal): Promise<void> {
  update({ episode: UNREAD_EPISODE });
  const listed = ignoreNotFound(api.listEpisodes(id, { arm, from: index, limit: 1 }, signal));
  const [evaluation, lines] = await Promise.all([ignoreNotFound(api.getEvaluation(id)), listed]);
  if (signal.aborted) return;
  const line = lines?.find((each) => each.index === index) ?? null;
  update({ episode: { ...UNREAD_EPISODE, evaluation, line } });
}

/** Plays the episode that is shown again. Its answer is dropped when something else is shown by then. */
async function replayShown(signal: AbortSignal): Promise<void> {
  const { route } = state;
  if (route.view !== 'episode') return;
  changeEpisode({ replay: 'playing', position: 0, isRunning: false });
  try {
    const replay = await api.replayEpisode(route.id, route);
    if (!signal.aborted) changeEpisode({ replay });
  } catch (error) {
    if (!signal.aborted) changeEpisode({ replay: undefined });
    throw error;
  }
}

function changeEpisode(change: Partial<EpisodeDetail>): void {
  if (state.episode) update({ episode: { ...state.episode, ...change } });
}

/** Shows the next picture after a while, as long as they run. */
function runOn(): void {
  clearTimeout(nextPicture);
  const { episode } = state;
  if (!episode?.isRunning || typeof episode.replay !== 'object') return;
  const isLast = episode.position >= episode.replay.pictures.length - 1;
  changeEpisode(isLast ? { isRunning: false } : { position: episode.position + 1 });
  if (!isLast) nextPicture = setTimeout(runOn, PICTURE_MILLISECONDS);
}

async function readEvaluation(place: Extract<Route, { view: 'evaluation' }>, signal: AbortSignal): Promise<void> {
  const { id } = place;
  const isAnother = state.detail?.id !== id;
  if (isAnother) {
    events?.close();
    update({ detail: { id, evaluation: undefined, course: [], episodes: [] } });
  }
  const [evaluation, episodes] = await Promise.all([
    ignoreNotFound(api.getEvaluation(id)),
    ignoreNotFound(api.listEpisodes(id, place, signal)),
  ]);
  if (signal.aborted) return;
  changeDetail(id, { evaluation, episodes: episodes ?? [] });
  if (isAnother && evaluation) followCourse(id);
}

/** Null in place of a refusal because it is not there. */
async function ignoreNotFound<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof api.Refusal && (error.status === 404 || error.status === 400)) return null;
    throw error;
  }
}

function changeDetail(id: string, change: Partial<Detail>): void {
  if (state.detail?.id === id) update({ detail: { ...state.detail, ...change } });
}

/** The course so far, and as it goes on: the events of one evaluation are kept by the server, so that a late reader has all of them. */
function followCourse(id: string): void {
  events?.close();
  const source = (events = new EventSource(`/v1/evaluations/${encodeURIComponent(id)}/events`));
  const course: CoursePoint[] = [];
  source.addEventListener('progress', ({ data }: MessageEvent<string>) => {
    const { data: figures }: { data: Parameters<typeof toCoursePoint>[0] } = JSON.parse(data);
    const point = toCoursePoint(figures);
    if (!point) return;
    // A resumed evaluation folds its stored episodes again.
    while ((course.at(-1)?.episodes ?? -1) >= point.episodes) course.pop();
    course.push(point);
    changeDetail(id, { course: [...course] });
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

addEventListener('popstate', () => show(parseRoute(new URL(location.href))));
setInterval(() => document.visibilityState === 'visible' && update({ now: Date.now() }), CLOCK_MILLISECONDS);
update({});
run(async () => begin(await api.getSession()));
