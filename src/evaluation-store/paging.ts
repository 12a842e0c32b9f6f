import { InputError } from '../kernel/errors.ts';

/** Items of a list, and where the next ones begin. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Undefined at the end of the list. */
  readonly next: string | undefined;
}

/** The request for one page. */
export interface PageRequest {
  /** Most items: from 1 on. */
  readonly limit: number;
  /** `next` of the page before; the first page when left out. */
  readonly after?: string | undefined;
}

/** The last item of a page of a list that is sorted by time, and by id where times are equal. */
export interface Position {
  readonly milliseconds: number;
  readonly id: string;
}

const POSITION = /^(\d{1,16})\.(.+)$/s;

export function formatCursor({ milliseconds, id }: Position): string {
  return Buffer.from(`${milliseconds}.${id}`).toString('base64url');
}

/** @throws InputError `cursor.invalid` when `formatCursor` has not made the cursor. */
export function parseCursor(cursor: string): Position {
  const [, milliseconds, id] = POSITION.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (milliseconds === undefined || id === undefined)
    throw new InputError('cursor.invalid', `after: "${cursor}" is no cursor; give the one that came with the page before, or none`);
  return { milliseconds: Number(milliseconds), id };
}

/** A page of a list of which one item more than its limit was looked up. */
export function formatCutPage<Item>(items: readonly Item[], limit: number, positionOfItem: (item: Item) => Position): Page<Item> {
  const shown = items.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown, next: items.length > limit && last !== undefined ? formatCursor(positionOfItem(last)) : undefined };
}
