import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import nock from 'nock';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MusterServer } from '../../end-to-end/muster-server.ts';
import { ANYTHING, CARTPOLE, LATE, REPOSITORY, SOURCES, Stage } from '../../end-to-end/stage.ts';
import { freePort } from '../../support/free-port.ts';
import { isFullForm } from '../../support/full-form.ts';
import { openBrowser, type Browser } from '../../support/chromium.ts';

const HOSTILE = `<script>document.title='owned'</script>\u202e"><img src=x onerror="document.title='owned'">`;
const EARLY = LATE.replace('late', 'early');
const UNBOUND = Object.fromEntries(
  ['concurrentEpisodes', 'checkpointBytes', 'episodesPerDay', 'openEpisodes'].map((name) => [name, 'unlimited']),
);
/** Simpler than others with the same parts. */
const MORE_ADDRESSES: readonly [string, string][] = [
  ['/batches', 'Batches'],
  ['/agents', 'Agents'],
  ['/agents/ep-none', 'There is no episode'],
];
const WIDTHS = [360, 1440, 3840] as const;

let stage: Stage;
let config: string;
let server: MusterServer;
let browser: Browser;
/** Of an operator. */
let token: string;
/** An evaluation that has ended. */
let ended: string;
/** A comparison that has ended. */
let compared: string;
/** An agent's episode that is open, with a step. */
let agentEpisode: string;

beforeAll(async () => {
  nock.enableNetConnect('127.0.0.1');
  stage = await Stage.open();
  const falling = await stage.write('falling.json', {
    name: 'falling',
    files: path.join(import.meta.dirname, '../../end-to-end/suites/environments'),
    environment: 'drawn:Falling',
    failureScores: { timeout: 0, crash: 0 },
    stop: { rule: 'fixed', episodes: 8 },
  });
  config = await stage.write('page.json', {
    stateDir: stage.stateDir,
    sources: { roots: [...SOURCES.roots, ANYTHING] },
    pool: { max: 2 },
    quotas: { default: { ...UNBOUND, waitingEvaluations: 40 } },
    arena: { tasks: [path.join(REPOSITORY, 'examples/code')] },
    server: { port: await freePort(), access: 'tokens', suites: { cartpole: CARTPOLE, falling } },
  });
  const made = await stage.run(['token', 'create', 'team', '--role', 'operator', '--config', config]);
  token = /muster_[0-9a-f]{16}_[\w-]+/.exec(made.stdout)?.[0] ?? '';
  server = await MusterServer.start(stage, config);
  browser = await openBrowser();
  ended = await submit(60, { run: HOSTILE, version: 1 });
  await submit(50, { run: HOSTILE, version: 2 });
  compared = (
    await api('/v1/comparisons', {
      suite: 'cartpole',
      baseline: { uri: EARLY },
      candidates: [{ uri: LATE }],
      margin: 10,
      labels: { batch: HOSTILE },
    })
  ).id;
  agentEpisode = episodeSchema.parse(await send('/v1/episodes', { task: 'fix-bug-in-sort-function', agent: HOSTILE })).episode;
  await send(`/v1/episodes/${agentEpisode}/steps`, { action: 'write_file', file: 'note.txt', content: HOSTILE });
  for (const id of [ended, compared]) await waitFor(async () => (await api(`/v1/evaluations/${id}`)).state === 'finished');
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await server?.command[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
  nock.disableNetConnect();
});

const itemSchema = z.looseObject({
  id: z.string(),
  state: z.string(),
  running: z
    .looseObject({ mean: z.number().nullable().optional(), halfWidth: z.number().nullable().optional(), episodes: z.int() })
    .nullable(),
});
const episodeSchema = z.looseObject({ episode: z.string() });
const issuedSchema = z.looseObject({ id: z.string(), token: z.string() });
type Item = z.infer<typeof itemSchema>;

async function api(address: string, body?: object): Promise<Item> {
  return itemSchema.parse(await send(address, body));
}

async function send(address: string, body?: object): Promise<unknown> {
  const content = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`${server.url}${address}`, { ...content, headers });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return await answer.json();
}

async function submit(
  halfWidth: number,
  { run, version, ...more }: { readonly run: string; readonly version: number; readonly cache?: 'off' },
): Promise<string> {
  const stop = { rule: 'certified', halfWidth };
  return (await api('/v1/evaluations', { suite: 'cartpole', checkpoint: { uri: LATE, run, version }, stop, ...more })).id;
}

async function waitFor(isSo: () => Promise<boolean>): Promise<void> {
  await server.command.until('what the test waits for', isSo);
}

interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** What the browser had to complain about, and requests to other hosts. */
  readonly complaints: readonly string[];
}

async function visit(address: string, context: BrowserContext = browser.context): Promise<Visit> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && origin !== server.url) complaints.push(`a request to ${request.url()}`);
  });
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${server.url}${address}`);
  return { page, complaints, [Symbol.asyncDispose]: () => page.close() };
}

/** The browser keeps the session for the visits that follow. */
async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Evaluations' }).waitFor();
}

describe('the live page', () => {
  it('shows nothing but a form without a good token, and forgets all at the end of a session', async () => {
    await using opened = await visit(`/evaluations/${ended}`);
    const { page } = opened;
    await page.getByLabel('Token').fill(`muster_0123456789abcdef_${'x'.repeat(43)}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('no such token').waitFor();
    expect(await page.locator('table').count()).toBe(0);
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    // The address said what to show.
    await page.getByRole('heading', { name: 'Episodes' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await page.reload();
    await page.getByLabel('Token').waitFor();
    expect(await page.locator('table').count()).toBe(0);
  });

  it('shows an evaluation as it is accepted, played and answered, with the figures of the API', async () => {
    await using opened = await visit('/');
    const { page, complaints } = opened;
    await signIn(page);
    const rows = page.locator('.evaluations tbody tr');
    await rows.nth(1).waitFor();
    const before = await rows.count();
    const id = await submit(40, { run: 'live', version: 7, cache: 'off' });
    const row = rows.filter({ hasText: 'live @ 7' });
    await row.getByText('finished').waitFor({ timeout: 120_000 });
    expect(await rows.count()).toBe(before + 1);
    const { running } = await api(`/v1/evaluations/${id}`);
    expect(await row.locator('td').nth(4).textContent()).toBe(String(running?.episodes));
    await row.getByRole('link', { name: /live @ 7/ }).click();
    await page.waitForURL(`**/evaluations/${id}`);
    await page.getByRole('img', { name: /running mean and its interval/ }).waitFor();
    const [mean = '', halfWidth = ''] = (await page.locator('.headline').textContent())?.split(' ± ') ?? [];
    expect(Number(mean)).toBeCloseTo(running?.mean ?? Number.NaN, 0);
    expect(Number(halfWidth)).toBeCloseTo(running?.halfWidth ?? Number.NaN, 0);
    expect(await page.locator('section[aria-labelledby=episodes] tbody tr').count()).toBeGreaterThanOrEqual(
      Math.min(100, running?.episodes ?? 0),
    );
    await page.goBack();
    await page.getByRole('heading', { name: 'Evaluations' }).waitFor();
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([]);
  });

  it('lists the worst episodes first, and plays one again with its pictures', async () => {
    const { id } = await api('/v1/evaluations', { suite: 'falling', checkpoint: { uri: ANYTHING } });
    await waitFor(async () => (await api(`/v1/evaluations/${id}`)).state === 'finished');
    await using opened = await visit(`/evaluations/${id}`);
    const { page } = opened;
    await page.getByLabel('Order').selectOption('worst return first');
    await page.waitForURL(/ranking=worst/);
    const returns = page.locator('tbody tr td:nth-child(4)');
    await waitFor(async () => {
      const shown = (await returns.allTextContents()).map(Number);
      return shown.length === 8 && shown.every((value, at) => at === 0 || value >= (shown[at - 1] ?? value));
    });
    const worst = (await returns.first().textContent())?.trim();
    await page.locator('tbody tr th a').first().click();
    await page.waitForURL(/episodes\/\d$/);
    await page.getByText(`return ${worst} after 12 steps`).waitFor();
    await page.getByRole('button', { name: 'Play again' }).click();
    await page.getByText('the same outcome').waitFor({ timeout: 60_000 });
    await page.getByRole('img', { name: 'the environment after step 0' }).waitFor();
    const size = `(({ naturalWidth, naturalHeight }) => [naturalWidth, naturalHeight])(document.querySelector('.film img'))`;
    expect(await page.evaluate(size)).toEqual([120, 90]);
    await page.getByRole('slider').fill('12');
    await page.getByRole('img', { name: 'the environment after step 12' }).waitFor();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('img', { name: 'the environment after step 12' }).waitFor();
    await page.getByText('Reward by step').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });

  it('shows what decided a comparison, and the pairs that disagree most side by side', async () => {
    await using opened = await visit(`/evaluations/${compared}`);
    const { page, complaints } = opened;
    const candidate = page.getByRole('region', { name: 'Candidates' }).locator('tbody tr');
    await candidate.getByText('promote').waitFor();
    await page.getByRole('img', { name: /^Evidence .* for promote/ }).waitFor();
    await page.getByRole('img', { name: /^The mean difference to the baseline/ }).waitFor();
    const pairs = page.getByRole('region', { name: 'Pairs' }).locator('tbody tr');
    await pairs.first().waitFor();
    const gaps = (await pairs.locator('td:last-child').allTextContents()).map(Number);
    expect(gaps).toEqual(gaps.toSorted((a, b) => Math.abs(b) - Math.abs(a)));
    // The same episode of both, each with its replay.
    await pairs.first().locator('td').nth(1).getByRole('link').click();
    await page.waitForURL(/episodes\/\d+$/);
    await page.getByRole('heading', { name: 'Replay' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("follows an agent's steps with what each changed, to the verdict and its stages", async () => {
    await using opened = await visit(`/agents/${agentEpisode}`);
    const { page, complaints } = opened;
    const steps = page.locator('.steps > li');
    await steps.first().getByText('What it changed').click();
    await steps.first().locator('.patch .added', { hasText: 'owned' }).waitFor();
    await send(`/v1/episodes/${agentEpisode}/steps`, { action: 'run', command: 'exit 3' });
    await steps.nth(1).getByText('exit code 3').first().waitFor();
    await send(`/v1/episodes/${agentEpisode}/steps`, { action: 'submit' });
    await page.getByRole('list', { name: 'Stages of the verdict' }).getByText('compare').waitFor({ timeout: 120_000 });
    expect(await page.locator('.headline').textContent()).toBe('reward 0');
    expect(complaints).toEqual([]);
  });

  it('shows the form again once the token is revoked while the page is open, and says why', async () => {
    const issued = issuedSchema.parse(await send('/v1/tokens', { principal: 'guest', role: 'viewer' }));
    await using opened = await visit('/pools');
    const { page } = opened;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').fill(issued.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('article', { name: 'pool local' }).waitFor();
    const revoked = await fetch(`${server.url}/v1/tokens/${issued.id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(revoked.status).toBe(200);
    // What asks next is refused: the click, or the stream, which the server ends by itself.
    await page
      .getByRole('link', { name: 'Evaluations' })
      .click({ timeout: 2000 })
      .catch(() => undefined);
    await page.getByRole('alert').getByText('the token was revoked').waitFor();
    expect(await page.locator('main table').count()).toBe(0);
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Evaluations' }).waitFor();
  });

  it('goes by the clock of the server where that of the browser is wrong', async () => {
    await using opened = await visit('/');
    const { page } = opened;
    await page.getByRole('heading', { name: 'Evaluations' }).waitFor();
    await page.clock.setSystemTime(Date.now() + 86_400_000);
    await page.getByRole('link', { name: 'Batches' }).click();
    await page.getByRole('link', { name: 'Evaluations' }).click();
    await page.getByRole('heading', { name: 'Evaluations' }).waitFor();
    let shown: readonly string[] = [];
    await waitFor(async () => {
      const ages = await page.locator('.evaluations tbody time').allTextContents();
      shown = ages.filter((age) => !/^\d+ (s|min) ago$/.test(age));
      return ages.length > 0 && shown.length === 0;
    });
    expect(shown).toEqual([]);
  });

  it('gives back its streams while nobody looks at it, and catches up when it is looked at again', async () => {
    await using opened = await visit('/');
    const { page } = opened;
    const connection = page.locator('.connection');
    await connection.getByText('live', { exact: true }).waitFor();
    const turn = (visibility: 'hidden' | 'visible'): Promise<unknown> =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { value: '${visibility}', configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await turn('hidden');
    await connection.getByText('connecting').waitFor();
    const id = await submit(55, { run: 'asleep', version: 1 });
    await waitFor(async () => (await api(`/v1/evaluations/${id}`)).state === 'finished');
    expect(await page.locator('.evaluations tbody tr', { hasText: 'asleep @ 1' }).count()).toBe(0);
    await turn('visible');
    await page.locator('.evaluations tbody tr', { hasText: 'asleep @ 1' }).getByText('finished').waitFor();
    await connection.getByText('live', { exact: true }).waitFor();
  });

  it('says that the server is away, and goes on by itself when it is back', async () => {
    await using opened = await visit('/pools');
    const { page } = opened;
    await page.getByText('live', { exact: true }).waitFor();
    server.command.signal('SIGTERM');
    await page.getByText('connection lost').waitFor();
    await server.command.ended;
    server = await MusterServer.start(stage, config);
    await page.getByText('live', { exact: true }).waitFor();
    expect(await page.getByRole('article', { name: 'pool local' }).count()).toBe(1);
  });

  it.each<[string, string]>([
    ['/', 'Evaluations'],
    ['/evaluations/ENDED', 'Episodes'],
    ['/evaluations/ENDED/episodes/0', 'Replay'],
    ['/pools', 'Pools'],
    ['/access', 'Quotas'],
    ['/evaluations/COMPARED', 'Pairs that disagree most'],
    [`/batches/${encodeURIComponent(HOSTILE)}`, HOSTILE],
    ['/agents/AGENT', 'Steps'],
    ['/evaluations/ev-none', 'There is no evaluation'],
    ...(isFullForm ? MORE_ADDRESSES : []),
  ])('%s has names as text, fits any window, and has no barrier that axe finds', async (address, heading) => {
    await using opened = await visit(address.replace('ENDED', ended).replace('COMPARED', compared).replace('AGENT', agentEpisode));
    const { page, complaints } = opened;
    await page.getByRole('heading', { name: heading }).first().waitFor();
    expect(await page.title()).toMatch(/ · Muster$/);
    expect(await page.locator('main img, main script').count()).toBe(0);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect([colorScheme, await violations(page)]).toEqual([colorScheme, []]);
    }
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.locator('html').evaluate((root) => Number(root.scrollWidth)), `${width} pixels`).toBeLessThanOrEqual(width);
    }
    expect(complaints.filter((text) => !text.includes('404') && !text.includes('400'))).toEqual([]);
  });

  it('shows the curve of a run whose name is hostile, and the report of its evaluations', async () => {
    await using opened = await visit(`/?run=${encodeURIComponent(HOSTILE)}`);
    const { page } = opened;
    await page.getByRole('figure').waitFor();
    expect(await page.locator('.evaluations tbody tr').count()).toBe(2);
    const report = await page.request.get(`${server.url}/v1/evaluations/${ended}/report`);
    expect([report.status(), report.headers()['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await report.text()).toContain('The interval, episode by episode');
  });
});

const axeSchema = z.array(z.looseObject({ id: z.string(), nodes: z.array(z.looseObject({ html: z.string() })) }));

/** What axe finds. The policy of the page lets no script of the test in, so it comes by the debugger. */
async function violations(page: Page): Promise<readonly string[]> {
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const found = axeSchema.parse(await page.evaluate(`${axe}; axe.run(document).then(({ violations }) => violations)`));
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 100)).join(' | ')}`);
}
