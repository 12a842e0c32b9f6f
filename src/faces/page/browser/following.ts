import { isOpen } from '../../client/live-board.ts';
import type { LiveMessage } from '../../http/schemas/live-schemas.ts';
import type { BoardResource } from '../../http/schemas/rollout-schemas.ts';
import * as api from './model/api.ts';
import { extendCourses } from './model/comparison.ts';
import { applyMessage, toCoursePoint, type CoursePoint, type Detail } from './model/state.ts';
import { thin } from './model/thinned.ts';
import { readBoard, readTranscript } from './readers.ts';
import type { Store } from './store.ts';

/** What the server tells by itself: the one stream of the whole page, and one of what is looked at. */

/** After a broken stream, so that a restarting server is not asked by all pages at once. */
const RETRY_MILLISECONDS = [1000, 3000] as const;

let live: EventSource | undefined;
let events: EventSource | undefined;

/** Of what is looked at. */
export function unfollow(): void {
  events?.close();
}

export function unfollowAll(): void {
  unfollow();
  live?.close();
  live = undefined;
}

/** @param onMissed after a break, or when the server has left changes out: what is shown has to be read again. */
export function followAll(store: Store, onMissed: () => void): void {
  live?.close();
  const source = (live = new EventSource('/v1/live'));
  let wasLost = store.state.connection === 'lost';
  source.addEventListener('changes', ({ data }: MessageEvent<string>) => {
    const message: LiveMessage = JSON.parse(data);
    store.receive({ ...applyMessage(store.state, message), connection: 'live' });
    if (message.isIncomplete || wasLost) onMissed();
    wasLost = false;
  });
  source.addEventListener('error', () => {
    if (live !== source) return;
    source.close();
    store.update({ connection: 'lost' });
    const [least, most] = RETRY_MILLISECONDS;
    const wait = least + Math.random() * (most - least);
    setTimeout(() => live === source && store.run(() => reconnect(store, onMissed)), wait);
  });
}

/** A stream does not say why it ended: the session does. */
async function reconnect(store: Store, onMissed: () => void): Promise<void> {
  try {
    store.update({ session: await api.getSession() });
  } catch (error) {
    if (error instanceof api.Refusal && error.status === 401) throw error;
  }
  followAll(store, onMissed);
}

/** The course so far, and as it goes on: the events of one evaluation are kept by the server, so that a late reader has all of them. */
export function followCourse(store: Store, id: string, onState: () => void): void {
  unfollow();
  const source = (events = new EventSource(`/v1/evaluations/${encodeURIComponent(id)}/events`));
  let course: readonly CoursePoint[] = [];
  const hearDetail = (change: Partial<Detail>): void => {
    const { detail } = store.state;
    if (detail?.id === id) store.receive({ detail: { ...detail, ...change } });
  };
  source.addEventListener('progress', ({ data }: MessageEvent<string>) => {
    const { data: figures }: { data: Parameters<typeof toCoursePoint>[0] } = JSON.parse(data);
    const { detail } = store.state;
    if (detail?.id === id) hearDetail({ differences: extendCourses(detail.differences, figures) });
    const point = toCoursePoint(figures);
    if (!point) return;
    // A resumed evaluation folds its stored episodes again.
    const isBehind = (course.at(-1)?.episodes ?? -1) < point.episodes;
    course = thin([...(isBehind ? course : course.filter(({ episodes }) => episodes < point.episodes)), point]);
    hearDetail({ course });
  });
  source.addEventListener('state', () => {
    // All of its events come again to each new reader, and what is over stays as it is.
    const { detail } = store.state;
    if (detail?.id === id && (!detail.evaluation || isOpen(detail.evaluation))) onState();
  });
  // It ends with the evaluation, and comes back by itself when it broke.
  source.addEventListener('error', () => {
    const { detail } = store.state;
    if (detail?.evaluation && !isOpen(detail.evaluation)) return source.close();
    // Refused for good, as when the evaluation was deleted.
    if (source.readyState === EventSource.CLOSED && detail?.id === id) onState();
  });
}

/** An agent's episode, and its steps as they are taken. */
export async function followTranscript(store: Store, id: string, signal: AbortSignal): Promise<void> {
  unfollow();
  await readTranscript(store, id, signal);
  const { transcript } = store.state;
  if (signal.aborted || !transcript?.episode || transcript.episode.state === 'closed') return;
  const after = transcript.steps.at(-1)?.answer.step ?? 0;
  const source = (events = new EventSource(`/v1/episodes/${encodeURIComponent(id)}/events?after=${after}`));
  const readOn = (): void => store.run(() => readTranscript(store, id, signal));
  source.addEventListener('step', readOn);
  source.addEventListener('closed', () => {
    source.close();
    readOn();
  });
}

/** A stream of groups for a training, as it goes on. */
export async function followBoard(store: Store, id: string, signal: AbortSignal): Promise<void> {
  unfollow();
  await readBoard(store, id, signal);
  const { stream: looked } = store.state;
  if (signal.aborted || looked?.board?.stream.state !== 'running') return;
  const source = (events = new EventSource(`/v1/rollouts/${encodeURIComponent(id)}/events`));
  source.addEventListener('board', ({ data }: MessageEvent<string>) => {
    const board: BoardResource = JSON.parse(data);
    if (!signal.aborted) store.receive({ stream: { id, board } });
  });
  source.addEventListener('error', () => {
    if (store.state.stream?.board?.stream.state !== 'running') return source.close();
    if (source.readyState === EventSource.CLOSED) store.run(() => readBoard(store, id, signal));
  });
}
