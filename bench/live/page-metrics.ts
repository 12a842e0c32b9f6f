import type { CDPSession, Page } from 'playwright-core';
import type { Browser } from '../../test/support/chromium.ts';

/** What a browser measures of its pages. */

/** Opening is not measured, and takes long on a busy machine. */
const PATIENCE_MILLISECONDS = 180_000;

export async function openPage(browser: Browser, url: string): Promise<{ readonly page: Page; readonly session: CDPSession }> {
  const page = await browser.context.newPage();
  page.setDefaultTimeout(PATIENCE_MILLISECONDS);
  await page.goto(url);
  await page.locator('main h1').waitFor();
  const session = await browser.context.newCDPSession(page);
  // Processor time of the page's main thread: what other processes take from it does not count.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return { page, session };
}

/** MiB, after a collection. */
export async function readHeap(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  return ((await readMetrics(session)).get('JSHeapUsedSize') ?? 0) / 2 ** 20;
}

export async function readMetrics(session: CDPSession): Promise<ReadonlyMap<string, number>> {
  const { metrics } = await session.send('Performance.getMetrics');
  return new Map(metrics.map(({ name, value }) => [name, value]));
}
