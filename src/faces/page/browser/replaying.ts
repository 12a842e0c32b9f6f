import * as api from './model/api.ts';
import type { Route } from './model/route.ts';
import { UNREAD_EPISODE, type EpisodeDetail } from './model/state.ts';
import { ignoreNotFound } from './readers.ts';
import type { Store } from './store.ts';

/** One episode of an evaluation, its replay, and its pictures while they play. */

const PICTURE_MILLISECONDS = 100;

let nextPicture: ReturnType<typeof setTimeout> | undefined;

export function showPicture(store: Store, position: number): void {
  changeEpisode(store, { position, isRunning: false });
}

export function runPictures(store: Store): void {
  const { episode } = store.state;
  if (!episode || typeof episode.replay !== 'object') return;
  const isAtEnd = episode.position >= episode.replay.pictures.length - 1;
  changeEpisode(store, { isRunning: !episode.isRunning, position: isAtEnd ? 0 : episode.position });
  runOn(store);
}

export async function readEpisode(
  store: Store,
  { id, index, arm }: Extract<Route, { view: 'episode' }>,
  signal: AbortSignal,
): Promise<void> {
  store.update({ episode: UNREAD_EPISODE });
  const listed = ignoreNotFound(api.listEpisodes(id, { arm, from: index, limit: 1 }, signal));
  const transcript = ignoreNotFound(api.getTranscript(id, { index, arm }));
  const [evaluation, lines, acted] = await Promise.all([ignoreNotFound(api.getEvaluation(id)), listed, transcript]);
  if (signal.aborted) return;
  const line = lines?.find((each) => each.index === index) ?? null;
  store.update({ episode: { ...UNREAD_EPISODE, evaluation, line, acted: acted ?? undefined } });
}

/** Plays the episode that is shown again. Its answer is dropped when something else is shown by then. */
export async function replayShown(store: Store, signal: AbortSignal): Promise<void> {
  const { route } = store.state;
  if (route.view !== 'episode') return;
  changeEpisode(store, { replay: 'playing', refused: undefined, position: 0, isRunning: false });
  try {
    const replay = await api.replayEpisode(route.id, route);
    if (!signal.aborted) changeEpisode(store, { replay });
  } catch (error) {
    const isRefused = error instanceof api.Refusal && error.status !== 401;
    if (!signal.aborted) changeEpisode(store, { replay: undefined, refused: isRefused ? error.message : undefined });
    if (!isRefused) throw error;
  }
}

function changeEpisode(store: Store, change: Partial<EpisodeDetail>): void {
  if (store.state.episode) store.update({ episode: { ...store.state.episode, ...change } });
}

/** Shows the next picture after a while, as long as they run. */
function runOn(store: Store): void {
  clearTimeout(nextPicture);
  const { episode } = store.state;
  if (!episode?.isRunning || typeof episode.replay !== 'object') return;
  const isLast = episode.position >= episode.replay.pictures.length - 1;
  changeEpisode(store, isLast ? { isRunning: false } : { position: episode.position + 1 });
  if (!isLast) nextPicture = setTimeout(() => runOn(store), PICTURE_MILLISECONDS);
}
