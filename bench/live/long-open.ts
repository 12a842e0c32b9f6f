import { parseArgs } from 'node:util';
import { sleep, systemClock } from '../../src/kernel/clock.ts';
import { openBrowser } from '../../test/support/chromium.ts';
import { openPage, readHeap, readMetrics } from './page-metrics.ts';
import { ServerProcess } from './server-process.ts';

/**
 * The heap of pages that stay open, in MiB after a forced collection, while evaluations begin and end all the time:
 *
 *   node_modules/.bin/node bench/live/long-open.ts --minutes 60
 *
 * It prints a line of JSON for each look, and ends with 1 when a page's median heap of the last third is more than a tenth above that of the second.
 */

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, every: { type: 'string', default: '60' } },
});
const [minutes, everySeconds] = [Number(values.minutes), Number(values.every)];
/** Between an evaluation that ends and the next. */
const TURNOVER_MILLISECONDS = 1000;
const MOST_GROWTH = 1.1;

await using server = await ServerProcess.simulate([1000, 1000, 500]);
await using browser = await openBrowser();
const open = await listOpen();
const views = ['/', '/pools', '/?run=live-1', '/batches', `/evaluations/${open[0]}`];
const pages = await Promise.all(views.map(async (view, at) => ({ view, ...(await openPage(browser, `${server.urlAt(at)}${view}`)) })));
const series: number[][] = views.map(() => []);
const start = systemClock.now();
const isOver = (): boolean => systemClock.now() - start >= 60_000 * minutes;
await Promise.all([turnOver(open.slice(1)), look()]);
process.exitCode = series.every(isFlat) ? 0 : 1;

/** The oldest is ended, and another asked for. */
async function turnOver(waiting: string[]): Promise<void> {
  for (let made = 0; !isOver(); made += 1) {
    await sleep(systemClock, TURNOVER_MILLISECONDS);
    const oldest = waiting.shift();
    if (oldest !== undefined) await send('DELETE', `/v1/evaluations/${oldest}`);
    const checkpoint = { uri: `/policies/later-${made}`, run: `live-${made % 10}`, version: 1000 + made };
    const { id }: { readonly id: string } = JSON.parse(
      await send('POST', '/v1/evaluations', { suite: 'simulated', checkpoint, labels: { batch: `job-${made % 7}` } }),
    );
    waiting.push(id);
  }
}

async function look(): Promise<void> {
  for (;;) {
    const heaps = await Promise.all(pages.map(({ session }) => readHeap(session)));
    const nodes = await Promise.all(pages.map(async ({ session }) => (await readMetrics(session)).get('Nodes') ?? 0));
    for (const [at, heap] of heaps.entries()) series[at]?.push(heap);
    const minute = Number(((systemClock.now() - start) / 60_000).toFixed(1));
    process.stdout.write(
      `${JSON.stringify({ minute, heaps: Object.fromEntries(views.map((view, at) => [view, heaps[at]?.toFixed(2)])), nodes })}\n`,
    );
    if (isOver()) return;
    await sleep(systemClock, 1000 * everySeconds);
  }
}

function isFlat(heaps: readonly number[]): boolean {
  const third = Math.floor(heaps.length / 3);
  return median(heaps.slice(-third)) <= MOST_GROWTH * median(heaps.slice(third, 2 * third));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

async function listOpen(): Promise<string[]> {
  const { items }: { readonly items: readonly { readonly id: string }[] } = JSON.parse(
    await send('GET', '/v1/evaluations?state=running&limit=200'),
  );
  return items.map(({ id }) => id);
}

async function send(method: string, address: string, body?: object): Promise<string> {
  const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const answer = await fetch(`${server.url}${address}`, { method, ...content });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${address}: ${answer.status}: ${text}`);
  return text;
}
