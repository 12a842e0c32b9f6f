import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { dependent } from '../scripts/dependent-process.ts';
import { sleep, systemClock } from '../src/kernel/clock.ts';
import { bundlePage } from '../scripts/packages/page-bundle.ts';
import { DIST } from '../scripts/packages/package-files.ts';
import { openBrowser, type Browser } from '../test/support/chromium.ts';
import { freePort } from '../test/support/free-port.ts';
import type { Benchmark, Cell } from './benchmark.ts';
import { readMetrics } from './live/page-metrics.ts';
import { findDeepEvaluation, ServerProcess } from './live/server-process.ts';
import { PYTHON } from './machine.ts';

const MUSTER = 'the live page';
const CHECKOUT = 'the live page from a checkout';
const INSPECT = "inspect_ai's viewer";
const PATIENCE_MILLISECONDS = 180_000;

interface Painted {
  /** Until the first row of episodes is shown. */
  readonly milliseconds: number;
  /** Over the network by then, as they were sent. */
  readonly bytes: number;
  readonly requests: number;
  /** Milliseconds of the browser's main thread. */
  readonly scripting: number;
}

/** One evaluation with many episodes, opened in a browser that has nothing of the viewer yet. */
export const pageBesideInspect: Benchmark = {
  name: 'page-beside-inspect',
  summary: "an evaluation of 10,000 episodes opened in the live page and in inspect_ai's viewer: time to the first rows, bytes sent",
  measurements: () => [MUSTER, CHECKOUT, INSPECT],
  async run({ quick, measured }) {
    const episodes = quick ? 1000 : 10_000;
    const rounds = quick ? 1 : 5;
    const bundled = join(DIST, 'page');
    await bundlePage(bundled);
    const page = await measured(MUSTER, () => openPage(episodes, rounds, bundled));
    const checkout = await measured(CHECKOUT, () => openPage(episodes, rounds));
    const inspect = await measured(INSPECT, () => openInspect(episodes, rounds));
    return {
      tables: [
        {
          title: `An evaluation of ${episodes} episodes, until its first rows are shown, median of ${rounds}`,
          columns: ['viewer', 'milliseconds', 'bytes sent', 'requests', 'scripting (ms)'],
          rows: [
            toRow(MUSTER, page),
            toRow(CHECKOUT, checkout),
            inspect.length === 0 ? [INSPECT, 'not installed', '', '', ''] : toRow(INSPECT, inspect),
          ],
        },
      ],
      checks: [],
      notes: [
        'Both servers on this machine, a new page without a cache each time. MUSTER_PEERS_PYTHON names a Python that has inspect_ai.',
        'The packages have the live page in one file; from a checkout a browser asks for each of its modules.',
        'The server of the live page has 200 running evaluations beside it; the other one reads one log file.',
      ],
    };
  },
};

function toRow(name: string, painted: readonly Painted[]): Cell[] {
  const median = (pick: (each: Painted) => number): number =>
    painted.map(pick).toSorted((a, b) => a - b)[Math.floor(painted.length / 2)] ?? 0;
  return [
    name,
    Math.round(median((each) => each.milliseconds)),
    median((each) => each.bytes),
    median((each) => each.requests),
    Math.round(median((each) => each.scripting)),
  ];
}

async function openPage(episodes: number, rounds: number, directory?: string): Promise<readonly Painted[]> {
  await using server = await ServerProcess.simulate([1, episodes, 50], directory);
  const id = await findDeepEvaluation(server);
  await using browser = await openBrowser();
  return await repeat(rounds, () => paint(browser, `${server.url}/evaluations/${id}`, 'section[aria-labelledby=episodes] tbody tr'));
}

/** @returns none where it is not installed. */
async function openInspect(episodes: number, rounds: number): Promise<readonly Painted[]> {
  const python = process.env['MUSTER_PEERS_PYTHON'] ?? PYTHON;
  const directory = await mkdtemp(join(tmpdir(), 'inspect-'));
  await using closing = new AsyncDisposableStack();
  closing.defer(() => rm(directory, { recursive: true, force: true }));
  // As the tool names its logs: by time, task and id.
  const log = '2026-01-01T00-00-00+00-00_simulated_abcdefghijklmnopqrstuv.eval';
  try {
    await promisify(execFile)(python, [join(import.meta.dirname, 'peers/inspect_log.py'), `${episodes}`, join(directory, log)]);
  } catch (error) {
    if (String(error).includes('No module named')) return [];
    throw error;
  }
  const port = await freePort();
  const viewer = spawn(...dependent(join(dirname(python), 'inspect'), ['view', 'start', '--log-dir', directory, '--port', `${port}`]), {
    stdio: 'ignore',
  });
  closing.defer(async () => {
    const exit = once(viewer, 'exit');
    if (viewer.exitCode === null && viewer.kill()) await exit;
  });
  const url = `http://127.0.0.1:${port}`;
  await untilAnswers(url);
  await using browser = await openBrowser();
  const address = `${url}/#/tasks/${encodeURIComponent(log)}`;
  return await repeat(rounds, () => paint(browser, address, '[role=gridcell][data-col-id=sampleId]'));
}

async function repeat(rounds: number, once: () => Promise<Painted>): Promise<readonly Painted[]> {
  const painted: Painted[] = [];
  for (let round = 0; round < rounds; round += 1) painted.push(await once());
  return painted;
}

async function paint(browser: Browser, address: string, rows: string): Promise<Painted> {
  const page = await browser.context.newPage();
  const session = await browser.context.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Performance.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  let bytes = 0;
  let requests = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
    requests += 1;
  });
  const start = performance.now();
  await page.goto(address, { waitUntil: 'commit' });
  await page.locator(rows).first().waitFor({ timeout: PATIENCE_MILLISECONDS });
  const milliseconds = performance.now() - start;
  const scripting = 1000 * ((await readMetrics(session)).get('ScriptDuration') ?? 0);
  const painted = { milliseconds, bytes, requests, scripting };
  await page.close();
  return painted;
}

async function untilAnswers(url: string): Promise<void> {
  const end = systemClock.now() + PATIENCE_MILLISECONDS;
  for (;;) {
    const answered = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (answered) return;
    if (systemClock.now() > end) throw new Error(`${url} does not answer`);
    await sleep(systemClock, 200);
  }
}
