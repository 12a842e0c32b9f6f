/** All objects of a kind that match, and from where to watch. */
export interface Listing<View> {
  readonly items: readonly View[];
  readonly resourceVersion: string;
}

/** One answer of an API server: objects, and where to go on. */
export interface Page<View> {
  readonly items: readonly View[];
  readonly resourceVersion: string | undefined;
  readonly next: string | undefined;
}

/** As many as one answer may hold: an answer of five hundred pods is some two megabytes. */
export const PAGE = 500;

/** Everything, page by page. A list whose continuation has expired (410) is begun anew by the caller. */
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
