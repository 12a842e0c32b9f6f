import { InputError } from '../kernel/errors.ts';

/** One page of a list, and the cursor of the next page. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** It is undefined at the end of the list. */
  readonly next: string | undefined;
}

export interface PageRequest {
  /** The largest number of items on the page, at least 1. */
  readonly limit: number;
  /** `next` of the previous page; the first page when left out. */
  readonly after?: string | undefined;
}

/** The last item of a page of a list that is sorted by time, then by id. */
export interface Position {
  readonly milliseconds: number;
  readonly id: string;
}

const POSITION = /^(\d{1,16})\.(.+)$/s;

export function formatCursor({ milliseconds, id }: Position): string {
  return Buffer.from(`${milliseconds}.${id}`).toString('base64url');
}

/** @throws InputError `cursor.invalid` when the text is no cursor of `formatCursor`. */
export function parseCursor(cursor: string): Position {
  const [, milliseconds, id] = POSITION.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (milliseconds === undefined || id === undefined)
    throw new InputError('cursor.invalid', `after: "${cursor}" is not a cursor; give the one of the previous page, or none`);
  return { milliseconds: Number(milliseconds), id };
}

/** Makes a page from up to one item more than its limit; the extra item shows that there is a next page. */
export function formatCutPage<Item>(items: readonly Item[], limit: number, positionOfItem: (item: Item) => Position): Page<Item> {
  const shown = items.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown, next: items.length > limit && last !== undefined ? formatCursor(positionOfItem(last)) : undefined };
}
