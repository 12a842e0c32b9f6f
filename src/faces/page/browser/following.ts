import { isOpen } from '../../client/live-board.ts';
import type { LiveMessage } from '../../http/schemas/live-schemas.ts';
import type { BoardResource } from '../../http/schemas/rollout-schemas.ts';
import * as api from './model/api.ts';
import { extendCourses } from './model/comparison.ts';
import { applyMessage, toCoursePoint, type CoursePoint, type Detail } from './model/state.ts';
import { thin } from './model/thinned.ts';
import { readBoard, readTranscript } from './readers.ts';
import type { Store } from './store.ts';

/** The server's streams: one for the whole page, and one for the present view. */

/** Pause after a broken stream, so that pages do not all reconnect to a restarting server at once. */
const RETRY_MILLISECONDS = [1000, 3000] as const;

let live: EventSource | undefined;
let events: EventSource | undefined;

/** Ends following for the present view. */
export function unfollow(): void {
  events?.close();
}

export function unfollowAll(): void {
  unfollow();
  live?.close();
  live = undefined;
}

/** @param onMissed after a break, or when the server has left changes out: what is shown has to be read again. */
export function followAll(store: Store, random: () => number, onMissed: () => void): void {
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
    const wait = least + random() * (most - least);
    setTimeout(() => live === source && store.run(() => reconnect(store, random, onMissed)), wait);
  });
}

/** A stream does not say why it ended: the session does. */
async function reconnect(store: Store, random: () => number, onMissed: () => void): Promise<void> {
  try {
    store.update({ session: await api.getSession() });
  } catch (error) {
    if (error instanceof api.Refusal && error.status === 401) throw error;
  }
  followAll(store, random, onMissed);
}

/** Reads the course so far, and follows its continuation: the server stores the events of one evaluation, so that a late reader has all of them. */
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
    // Each new reader gets all of its events again, and an evaluation that is over does not change.
    const { detail } = store.state;
    if (detail?.id === id && (!detail.evaluation || isOpen(detail.evaluation))) onState();
  });
  // It ends with the evaluation, and reconnects when it broke.
  source.addEventListener('error', () => {
    const { detail } = store.state;
    if (detail?.evaluation && !isOpen(detail.evaluation)) return source.close();
    // Refused for good, as when the evaluation was deleted.
    if (source.readyState === EventSource.CLOSED && detail?.id === id) onState();
  });
}

/** Follows an agent's episode, and its steps as they are taken. */
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

/** Follows a stream of groups for a training. */
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
