import type { EvaluationItem } from '../http/schemas/evaluation-schemas.ts';
import type { LiveMessage } from '../http/schemas/live-schemas.ts';
import type { Pool } from '../http/schemas/pool-schemas.ts';

/** The latest state from a server's live stream. */
export interface LiveBoard {
  readonly evaluations: ReadonlyMap<string, EvaluationItem>;
  readonly pools: readonly Pool[];
}

/** The states of a pool's sandboxes in the order in which they are shown, with their names for people. */
export const SANDBOX_STATES = [
  ['leased', 'busy'],
  ['idle', 'idle'],
  ['warming', 'warming'],
  ['creating', 'creating'],
  ['destroying', 'ending'],
] as const;

export const EMPTY_BOARD: LiveBoard = { evaluations: new Map(), pools: [] };

/** Ended evaluations that are kept, so that a board that is open for days stays small. */
const MOST_ENDED = 1000;

/** Returns the board after the changes, in the order in which they were sent. */
export function applyChanges({ evaluations, pools }: LiveBoard, message: LiveMessage): LiveBoard {
  const { evaluations: changed = [], running = [] } = message;
  const known = new Map(evaluations);
  for (const item of changed) known.set(item.id, item);
  for (const { id, running: figures } of running) {
    const item = known.get(id);
    if (item && isOpen(item)) known.set(id, { ...item, running: figures });
  }
  return { evaluations: changed.length > 0 ? withoutOldest(known) : known, pools: message.pools ?? pools };
}

export function isOpen({ state }: Pick<EvaluationItem, 'state'>): boolean {
  return state === 'waiting' || state === 'running';
}

/** Orders the latest first, as the server lists them: later ids sort after earlier ones. */
export function compareLatestFirst(a: EvaluationItem, b: EvaluationItem): number {
  if (a.createdAt === b.createdAt) return a.id < b.id ? 1 : -1;
  return a.createdAt < b.createdAt ? 1 : -1;
}

function withoutOldest(known: ReadonlyMap<string, EvaluationItem>): ReadonlyMap<string, EvaluationItem> {
  if (known.size <= MOST_ENDED) return known;
  const ended = [...known.values()].filter((item) => !isOpen(item)).sort(compareLatestFirst);
  const kept = new Map(known);
  for (const { id } of ended.slice(MOST_ENDED)) kept.delete(id);
  return kept;
}
