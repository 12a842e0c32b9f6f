import type { EvaluationItem } from '../http/schemas/evaluation-schemas.ts';
import type { LiveMessage } from '../http/schemas/live-schemas.ts';
import type { Pool } from '../http/schemas/pool-schemas.ts';

/** What the live stream of a server has said so far. */
export interface LiveBoard {
  readonly evaluations: ReadonlyMap<string, EvaluationItem>;
  readonly pools: readonly Pool[];
}

export const EMPTY_BOARD: LiveBoard = { evaluations: new Map(), pools: [] };

/** Kept of evaluations that have ended, so that a board that is looked at for days stays small. */
const MOST_ENDED = 1000;

/** The board with what has changed since, in the order in which it was sent. */
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

/** Latest first, as the server lists them: ids of later ones sort after those of earlier ones. */
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
