/** All matching objects of a kind, and the version from which to watch. */
export interface Listing<View> {
  readonly items: readonly View[];
  readonly resourceVersion: string;
}

/** One answer of an API server: objects, and the position at which to continue. */
export interface Page<View> {
  readonly items: readonly View[];
  readonly resourceVersion: string | undefined;
  readonly next: string | undefined;
}

/** The largest number of objects in one answer: five hundred pods are some two megabytes. */
export const PAGE = 500;

/** Lists all objects, page by page. The caller restarts a list whose continuation has expired (410). */
export async function listAll<View>(page: (next: string | undefined) => Promise<Page<View>>): Promise<Listing<View>> {
  const items: View[] = [];
  let next: string | undefined;
  for (;;) {
    const { items: some, resourceVersion = '', next: further } = await page(next);
    items.push(...some);
    next = further || undefined;
    if (next === undefined) return { items, resourceVersion };
  }
}
