import { isOpen } from '../../client/live-board.ts';
import type { EpisodeLine } from '../../http/schemas/episode-schemas.ts';
import * as api from './model/api.ts';
import type { Pair } from './model/comparison.ts';
import type { Route } from './model/route.ts';
import { applyList, type Detail } from './model/state.ts';
import type { Store } from './store.ts';
import { createTranscript, type Transcript } from './model/transcript.ts';

/** Reads what some views show into the state of the page. */

/** Returns null where the server has no such thing. */
export async function ignoreNotFound<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof api.Refusal && (error.status === 404 || error.status === 400)) return null;
    throw error;
  }
}

function changeDetail({ state, update }: Store, id: string, change: Partial<Detail>): void {
  if (state.detail?.id === id) update({ detail: { ...state.detail, ...change } });
}

const PAGE_ITEMS = 100;

/**
 * Reads the evaluations that the address selects: of several runs, the latest of each. @param after cursor of the next page; undefined to begin
 * again.
 */
export async function readList(store: Store, after: string | undefined): Promise<void> {
  const { route } = store.state;
  const filter = new Map(route.view === 'overview' ? Object.entries(route.filter).filter(([, value]) => value !== '') : []);
  if (route.view === 'batches' && route.name !== '') filter.set('label', `batch=${route.name}`);
  if (after !== undefined) filter.set('after', after);
  const query = { limit: String(PAGE_ITEMS), ...Object.fromEntries(filter) };
  const runs = after === undefined && route.view === 'overview' ? route.beside : [];
  const others = runs.map((run) => api.listEvaluations(Object.assign({}, query, { run })));
  // Runs to choose from.
  if (after === undefined && filter.has('run')) others.push(api.listEvaluations({ limit: query.limit }));
  const [first, ...more] = await Promise.all([api.listEvaluations(query), ...others]);
  store.update(
    applyList(
      store.state,
      [first, ...more].flatMap(({ items }) => items),
      first.next,
    ),
  );
}

export async function readEvaluation(store: Store, place: Extract<Route, { view: 'evaluation' }>, signal: AbortSignal): Promise<void> {
  const { id } = place;
  const [evaluation, episodes] = await Promise.all([
    ignoreNotFound(api.getEvaluation(id)),
    ignoreNotFound(api.listEpisodes(id, place, signal)),
  ]);
  if (signal.aborted) return;
  changeDetail(store, id, { evaluation, episodes: episodes ?? [] });
  if (evaluation?.kind === 'comparison') await readPairs(store, place, signal);
}

/** Reads the evaluations that are shown beside the one in view. */
export async function readBeside(
  store: Store,
  { id, beside: ids }: { readonly id: string; readonly beside: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  if (ids.length === 0 && store.state.detail?.beside.length === 0) return;
  const beside = await Promise.all(ids.map((each) => ignoreNotFound(api.getEvaluation(each))));
  if (!signal.aborted) changeDetail(store, id, { beside: beside.filter((each) => each !== null) });
}

export async function readAccess(store: Store): Promise<void> {
  const [{ items: audit }, { items: tokens }, { items: quotas }] = await Promise.all([api.listAudit(), api.listTokens(), api.listQuotas()]);
  store.update({ access: { audit, tokens, quotas } });
}

const AGAIN_MILLISECONDS = 2000;

/** Reads repeatedly, while the page is visible, what the server's stream does not contain. @param read returns whether there may be more. */
async function readAgain(signal: AbortSignal, read: () => Promise<boolean>): Promise<void> {
  while (!signal.aborted) {
    if (document.visibilityState === 'visible' && !(await read())) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MILLISECONDS));
  }
}

export function readStreams(store: Store, signal: AbortSignal): Promise<void> {
  return readAgain(signal, async () => {
    const { items } = await api.listStreams();
    if (!signal.aborted) store.update({ streams: items });
    return true;
  });
}

/** Reads how an evaluation is played, until it is over. */
export function readPlaying(store: Store, id: string, signal: AbortSignal): Promise<void> {
  return readAgain(signal, async () => {
    const { evaluation } = store.state.detail ?? {};
    const goesOn = evaluation !== undefined && evaluation !== null && isOpen(evaluation);
    const playing = await ignoreNotFound(api.getPlaying(id));
    if (playing && !signal.aborted) changeDetail(store, id, { playing });
    return goesOn && playing !== null;
  });
}

export async function readBoard(store: Store, id: string, signal: AbortSignal): Promise<void> {
  if (store.state.stream?.id !== id) store.update({ stream: { id, board: undefined } });
  const board = await ignoreNotFound(api.getBoard(id));
  if (!signal.aborted) store.update({ stream: { id, board } });
}

const PAIRS_SHOWN = 8;

/** Reads the pairs of a candidate that disagree most, with the baseline's episodes. */
export async function readPairs(
  store: Store,
  { id, arm }: { readonly id: string; readonly arm: number },
  signal: AbortSignal,
): Promise<void> {
  const query = { arm: Math.max(1, arm), from: 0, ranking: 'discordant', limit: PAIRS_SHOWN } as const;
  const candidates = (await ignoreNotFound(api.listEpisodes(id, query, signal))) ?? [];
  const pairs = await Promise.all(candidates.map((candidate) => readPair(id, candidate, signal)));
  if (!signal.aborted) changeDetail(store, id, { pairs });
}

async function readPair(id: string, candidate: EpisodeLine, signal: AbortSignal): Promise<Pair> {
  const lines = await ignoreNotFound(api.listEpisodes(id, { arm: 0, from: candidate.index, limit: 1 }, signal));
  return { baseline: lines?.find(({ index }) => index === candidate.index), candidate };
}

/** Reads the latest episodes as they begin and end. Earlier ones that were read stay. */
export function followAgents(store: Store, signal: AbortSignal): Promise<void> {
  return readAgain(signal, async () => {
    const { items, next } = await api.listAgentEpisodes(undefined);
    if (signal.aborted) return false;
    const { agents } = store.state;
    const read = new Set(items.map(({ episode }) => episode));
    const earlier = agents?.items.filter(({ episode }) => !read.has(episode)) ?? [];
    store.update({ agents: { items: [...items, ...earlier], next: earlier.length > 0 && agents ? agents.next : next } });
    return true;
  });
}

/** @param after cursor of the next page. */
export async function readAgents({ state, update }: Store, after: string): Promise<void> {
  const { items, next } = await api.listAgentEpisodes(after);
  update({ agents: { items: [...(state.agents?.items ?? []), ...items], next } });
}

/** Reads the present episode, and the steps after those that are shown. */
export async function readTranscript(store: Store, id: string, signal: AbortSignal): Promise<void> {
  if (store.state.transcript?.id !== id) store.update({ transcript: createTranscript(id) });
  const episode = await ignoreNotFound(api.getAgentEpisode(id));
  if (signal.aborted) return;
  changeTranscript(store, id, { episode });
  if (!episode) return;
  const shown = store.state.transcript?.steps.at(-1)?.answer.step ?? 0;
  const [steps, reward] = await Promise.all([
    api.listSteps(id, shown),
    episode.state === 'closed' ? ignoreNotFound(api.getReward(id)) : Promise.resolve(null),
  ]);
  if (signal.aborted) return;
  const known = store.state.transcript?.steps ?? [];
  const last = known.at(-1)?.answer.step ?? 0;
  const added = steps.items.filter(({ answer }) => answer.step > last);
  changeTranscript(store, id, { steps: [...known, ...added], reward: reward ?? undefined });
}

/** Reads the changes of a step, once requested. */
export async function readDiff(store: Store, step: number): Promise<void> {
  const { transcript } = store.state;
  if (!transcript || transcript.diffs.has(step)) return;
  const put = (diff: Transcript['diffs'] extends ReadonlyMap<number, infer Diff> ? Diff : never): void =>
    changeTranscript(store, transcript.id, { diffs: new Map(store.state.transcript?.diffs).set(step, diff) });
  put('reading');
  put(await api.getDiff(transcript.id, step));
}

function changeTranscript({ state, update }: Store, id: string, change: Partial<Transcript>): void {
  if (state.transcript?.id === id) update({ transcript: { ...state.transcript, ...change } });
}
