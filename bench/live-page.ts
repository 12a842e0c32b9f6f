import type { CDPSession } from 'playwright-core';
import { sleep, systemClock } from '../src/kernel/clock.ts';
import { openBrowser, type Browser } from '../test/support/chromium.ts';
import type { Benchmark, Cell, Check } from './benchmark.ts';
import { openPage, readHeap, readMetrics } from './live/page-metrics.ts';
import { keepOn, listProcessors } from './live/processors.ts';
import { findDeepEvaluation, PAGES, SimulatedServer, type MeasuredDelay } from './live/server-process.ts';
import type { Delay } from './live/simulated-server.ts';

const SANDBOXES = 500;
const VIEWS = ['/', '/pools', '/?run=live-1', '/batches'] as const;
const MOST_SCRIPTING = 60;
const MOST_DELAY_GROWTH = 1.1;
const MOST_HEAP_GROWTH = 1.1;
const MOST_OPENING = 1000;

const WITHOUT = 'the server without pages';
const STREAMS = `the server with ${PAGES} streams that are read and not drawn`;
const APART = `${PAGES} pages in a browser on other processors than the server`;
const WITH = `${PAGES} pages`;
const OPENING = 'opening long lists';

/** What the live page costs: the server's event loop, and the browser. */
export const livePage: Benchmark = {
  name: 'live-page',
  summary: 'the live page on 200 running evaluations and 500 sandboxes: the server with and without ten pages, their scripting and memory',
  measurements: () => [WITHOUT, STREAMS, APART, WITH, OPENING],
  async run({ quick, measured }) {
    const seconds = quick ? 5 : 30;
    const rows = quick ? 1000 : 100_000;
    await using server = await SimulatedServer.start([rows, rows, SANDBOXES]);
    const [own, ...others] = listProcessors();
    if (own === undefined || others.length === 0)
      throw new Error('the benchmark needs two processors: one for the server, one for the browser');
    const [without, streams, apart] = await (async () => {
      using _server = keepOn([own], server.pid);
      using _browser = keepOn(others, process.pid);
      await using browser = await openBrowser();
      await sleep(systemClock, 3000);
      return [
        await measured(WITHOUT, () => server.delayOver(seconds)),
        await measured(STREAMS, () => delayWithStreams(server, seconds)),
        await measured(APART, () => lookAt(server, browser, seconds)),
      ] as const;
    })();
    await using browser = await openBrowser();
    const pages = await measured(WITH, () => lookAt(server, browser, seconds));
    const opening = await measured(OPENING, () => openLists(server, browser));
    return {
      tables: [
        {
          title: `Event loop of the server, 200 evaluations with 10,000 episodes a second and ${SANDBOXES} sandboxes, ${seconds} s each`,
          columns: ['what', 'p50 (ms)', 'p99 (ms)', 'load'],
          rows: [
            delayRow('no page', without),
            delayRow(`${PAGES} streams, read by the benchmark`, streams),
            delayRow(`${PAGES} pages, in a browser on other processors than the server`, apart),
            delayRow(`${PAGES} pages, in a browser on the same processors`, pages),
          ],
        },
        {
          title: 'Pages, by what they show',
          columns: ['address', 'scripting (ms/s)', 'all work (ms/s)', 'heap at first (MiB)', 'heap at the end (MiB)'],
          rows: apart.views.map(({ address, scripting, work, heap }) => [address, scripting, work, heap[0] ?? 0, heap.at(-1) ?? 0]),
        },
        {
          title: `Of ${rows} evaluations and ${rows} episodes, until rows are shown`,
          columns: ['address', 'milliseconds'],
          rows: opening.map(({ what, milliseconds }): Cell[] => [what, milliseconds]),
        },
      ],
      checks: checksOf({ without, streams, apart, opening }),
      notes: [
        "Scripting and all work are processor time of the page's main thread.",
        'Simulated players report ten times a second each and store nothing; HTTP, stream, store and page are the real ones.',
        `The server has a processor of its own in all rows but the last. There, the browser takes time from the server, as a browser on another machine would not.`,
      ],
    };
  },
};

interface ViewCost {
  readonly address: string;
  readonly scripting: number;
  readonly work: number;
  /** MiB, after a collection, in thirds of the time. */
  readonly heap: readonly number[];
}

type PagesCost = MeasuredDelay & { readonly views: readonly ViewCost[] };
type Opening = readonly { readonly what: string; readonly milliseconds: number }[];

function delayRow(what: string, { p50, p99, load }: MeasuredDelay): Cell[] {
  return [what, p50.toFixed(2), p99.toFixed(2), load.toFixed(1)];
}

interface Measured {
  readonly without: Delay;
  readonly streams: Delay;
  readonly apart: PagesCost;
  readonly opening: Opening;
}

function checksOf({ without, streams, apart, opening }: Measured): readonly Check[] {
  const scripting = Math.max(...apart.views.map((view) => view.scripting));
  const heap = Math.max(...apart.views.map((view) => (view.heap.at(-1) ?? 0) / (view.heap[0] ?? 1)));
  const slowest = Math.max(...opening.map(({ milliseconds }) => milliseconds));
  const check = (what: string, target: string, measured: string, met: boolean): Check => ({ what, target, measured, met });
  const checkDelay = (what: string, { p99 }: Delay): Check => {
    const growth = p99 / without.p99;
    return check(
      `p99 of the event loop with ${what}, beside none`,
      `≤ ${MOST_DELAY_GROWTH} ×`,
      `${growth.toFixed(2)} ×`,
      growth <= MOST_DELAY_GROWTH,
    );
  };
  return [
    checkDelay(`${PAGES} streams`, streams),
    checkDelay(`${PAGES} pages on other processors`, apart),
    check('scripting of a page', `≤ ${MOST_SCRIPTING} ms/s`, `${scripting.toFixed(1)} ms/s`, scripting <= MOST_SCRIPTING),
    check('heap of a page, at the end beside the beginning', `≤ ${MOST_HEAP_GROWTH} ×`, `${heap.toFixed(2)} ×`, heap <= MOST_HEAP_GROWTH),
    check('opening the longest list', `≤ ${MOST_OPENING} ms`, `${slowest.toFixed(0)} ms`, slowest <= MOST_OPENING),
  ];
}

async function delayWithStreams(server: SimulatedServer, seconds: number): Promise<MeasuredDelay> {
  const gone = new AbortController();
  const reading = Array.from({ length: PAGES }, async () => {
    const answer = await fetch(`${server.url}/v1/live`, { signal: gone.signal });
    for await (const _ of answer.body ?? []);
  });
  const delay = await server.delayOver(seconds);
  gone.abort();
  await Promise.allSettled(reading);
  return delay;
}

async function lookAt(server: SimulatedServer, browser: Browser, seconds: number): Promise<PagesCost> {
  const opened = await Promise.all(
    Array.from({ length: PAGES }, (_, at) => openPage(browser, `${server.urlAt(at)}${VIEWS[at % VIEWS.length]}`)),
  );
  await sleep(systemClock, 3000);
  const costs: ViewCost[] = [];
  const watch = async (): Promise<void> => {
    const watched = opened.slice(0, VIEWS.length).map(({ session }, at) => watchCost(session, VIEWS[at] ?? '/', seconds));
    costs.push(...(await Promise.all(watched)));
  };
  const delay = await server.delayOver(seconds, watch);
  await Promise.all(opened.map(({ page }) => page.close()));
  return { ...delay, views: costs };
}

const PARTS = 3;

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
async function openLists(server: SimulatedServer, browser: Browser): Promise<Opening> {
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
