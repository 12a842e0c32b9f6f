import { followBoard, followCourse, followTranscript, unfollow } from './following.ts';
import * as api from './model/api.ts';
import { formatRoute, type Route } from './model/route.ts';
import { ROWS_AT_FIRST, type PageState } from './model/state.ts';
import {
  followAgents,
  readAccess,
  readAgents,
  readBeside,
  readEvaluation,
  readList,
  readPlaying,
  readStreams,
  readTranscript,
} from './readers.ts';
import { readEpisode, replayShown } from './replaying.ts';
import type { Store } from './store.ts';

/** Reads what a route shows. */

const ROWS_MORE = 100;

/** Aborted when the page changes to another view. */
let reading = new AbortController();

export function stopReading(): void {
  reading.abort();
}

export function show(store: Store, route: Route): void {
  const before = store.state.route;
  const isSame = formatRoute(route) === formatRoute(before);
  // A replay stays when the connection breaks, or the user leaves the tab.
  if (isSame && route.view === 'episode' && store.state.episode?.line) return;
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  store.update({ route, ...(isSame ? {} : { rows: ROWS_AT_FIRST }) });
  if (route.view !== before.view) scrollTo(0, 0);
  if (route.view !== 'evaluation') unfollow();
  store.run(() => read(store, route, signal));
}

async function read(store: Store, route: Route, signal: AbortSignal): Promise<void> {
  switch (route.view) {
    case 'overview':
    case 'batches':
      return readList(store, undefined);
    case 'evaluation':
      return showEvaluation(store, route, signal);
    case 'episode':
      return readEpisode(store, route, signal);
    case 'agents':
      return followAgents(store, signal);
    case 'agent':
      return followTranscript(store, route.id, signal);
    case 'rollouts':
      return readStreams(store, signal);
    case 'stream':
      return followBoard(store, route.id, signal);
    case 'access':
      return store.state.session?.role === 'operator' ? readAccess(store) : undefined;
    case 'pools':
    case 'unknown':
      return;
  }
}

async function showEvaluation(store: Store, place: Extract<Route, { view: 'evaluation' }>, signal: AbortSignal): Promise<void> {
  const { id } = place;
  const isAnother = store.state.detail?.id !== id;
  if (isAnother) {
    unfollow();
    const nothing = { evaluation: undefined, course: [], differences: new Map(), pairs: [], episodes: [], playing: undefined, beside: [] };
    store.update({ detail: { id, ...nothing } });
  }
  await readEvaluation(store, place, signal);
  if (signal.aborted) return;
  const readAgain = (): void => {
    const { route } = store.state;
    if (route.view === 'evaluation' && route.id === id) store.run(() => readEvaluation(store, route, reading.signal));
  };
  if (isAnother && store.state.detail?.evaluation) followCourse(store, id, readAgain);
  await Promise.all([readBeside(store, place, signal), store.state.detail?.evaluation ? readPlaying(store, id, signal) : undefined]);
}

/** Reads the next page of the list. */
export async function readOn(store: Store): Promise<void> {
  const { state }: { readonly state: PageState } = store;
  switch (state.route.view) {
    case 'agents':
      return state.agents?.next ? readAgents(store, state.agents.next) : undefined;
    case 'agent':
      return readTranscript(store, state.route.id, reading.signal);
    default:
      store.update({ rows: state.rows + ROWS_MORE });
      return state.next === null ? undefined : readList(store, state.next);
  }
}

export function replay(store: Store): Promise<void> {
  return replayShown(store, reading.signal);
}

export async function cancelEvaluation(id: string): Promise<void> {
  if (confirm('Cancel this evaluation? The episodes that count by now are kept.')) await api.cancelEvaluation(id);
}

export async function cancelStream(id: string): Promise<void> {
  if (confirm('End this stream? No more of its groups are delivered.')) await api.cancelStream(id);
}
