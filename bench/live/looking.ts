import type { CDPSession } from 'playwright-core';
import { sleep, systemClock } from '../../src/kernel/clock.ts';
import type { Browser } from '../../test/support/chromium.ts';
import { openPage, readHeap, readMetrics } from './page-metrics.ts';
import { findDeepEvaluation, PAGES, type MeasuredDelay, type ServerProcess } from './server-process.ts';

export const VIEWS = ['/', '/pools', '/?run=live-1', '/batches'] as const;
/** What a page reads when it is opened is over by then. */
const SETTLED_MILLISECONDS = 3000;
const PARTS = 3;

export interface ViewCost {
  readonly address: string;
  /** Milliseconds a second. */
  readonly scripting: number;
  readonly work: number;
  /** MiB, after a collection, in thirds of the time. */
  readonly heap: readonly number[];
}

export type PagesCost = MeasuredDelay & { readonly views: readonly ViewCost[] };
export type Opening = readonly { readonly what: string; readonly milliseconds: number }[];

/** What a server does while ten pages look at it, or at another one. */
export async function measureWithPages(
  server: ServerProcess,
  { browser, at, seconds }: { readonly browser: Browser; readonly at: ServerProcess; readonly seconds: number },
): Promise<PagesCost> {
  const opened = await Promise.all(
    Array.from({ length: PAGES }, (_, page) => openPage(browser, `${at.urlAt(page)}${VIEWS[page % VIEWS.length]}`)),
  );
  await sleep(systemClock, SETTLED_MILLISECONDS);
  const views: ViewCost[] = [];
  const watch = async (): Promise<void> => {
    const watched = opened.slice(0, VIEWS.length).map(({ session }, page) => watchCost(session, VIEWS[page] ?? '/', seconds));
    views.push(...(await Promise.all(watched)));
  };
  const delay = await server.delayOver(seconds, watch);
  await Promise.all(opened.map(({ page }) => page.close()));
  return { ...delay, views };
}

/** The same with streams that are read and not drawn. */
export async function measureWithStreams(server: ServerProcess, seconds: number): Promise<MeasuredDelay> {
  const gone = new AbortController();
  const reading = Array.from({ length: PAGES }, async () => {
    const answer = await fetch(`${server.url}/v1/live`, { signal: gone.signal });
    for await (const _ of answer.body ?? []);
  });
  await sleep(systemClock, SETTLED_MILLISECONDS);
  const delay = await server.delayOver(seconds);
  gone.abort();
  await Promise.allSettled(reading);
  return delay;
}

async function watchCost(session: CDPSession, address: string, seconds: number): Promise<ViewCost> {
  const heap = [await readHeap(session)];
  const before = await readMetrics(session);
  for (let part = 0; part < PARTS; part += 1) {
    await sleep(systemClock, (1000 * seconds) / PARTS);
    heap.push(await readHeap(session));
  }
  const after = await readMetrics(session);
  const rate = (name: string): number =>
    (1000 * ((after.get(name) ?? 0) - (before.get(name) ?? 0))) / ((after.get('Timestamp') ?? 0) - (before.get('Timestamp') ?? 0));
  return { address, scripting: rate('ScriptDuration'), work: rate('TaskDuration'), heap };
}

/** From the address to the rows, in a browser that has the page's files. */
export async function openLists(server: ServerProcess, browser: Browser): Promise<Opening> {
  const page = await browser.context.newPage();
  const found: { readonly what: string; readonly milliseconds: number }[] = [];
  const open = async (address: string, rows: string): Promise<void> => {
    await page.goto('about:blank');
    const start = performance.now();
    await page.goto(`${server.url}${address}`, { waitUntil: 'commit' });
    await page.locator(rows).first().waitFor();
    found.push({ what: address, milliseconds: performance.now() - start });
  };
  await open('/?run=deep', '.evaluations tbody tr');
  const link = await page.locator('.evaluations tbody th a').first().getAttribute('href');
  const deep = await findDeepEvaluation(server);
  await open('/', '.evaluations tbody tr');
  await open('/?run=deep&state=finished', '.evaluations tbody tr');
  await open(`/evaluations/${deep}`, 'section[aria-labelledby=episodes] tbody tr');
  await open(`/evaluations/${deep}?from=99900`, 'section[aria-labelledby=episodes]');
  await open(`/evaluations/${deep}?ranking=worst`, 'section[aria-labelledby=episodes] tbody tr');
  await page.close();
  if (link === null) throw new Error('the list has no link');
  return found.slice(1).map(({ what, milliseconds }) => ({ what: what.replace(deep, 'ID'), milliseconds }));
}
