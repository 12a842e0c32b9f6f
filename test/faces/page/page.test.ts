import { createHash } from 'node:crypto';
import { cp, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readMetrics } from '../../../bench/live/page-metrics.ts';
import { playingSchema } from '../../../src/faces/http/schemas/playing-schemas.ts';
import { poolListSchema } from '../../../src/faces/http/schemas/pool-schemas.ts';
import { runnersInside } from '../../end-to-end/inside.ts';
import { ANYTHING, LATE } from '../../end-to-end/stage.ts';
import { extent, isFullForm } from '../../support/full-form.ts';
import { listUnreachable, listViolations, PageFixture } from './page-fixture.ts';

const ATTACK = `<script>document.title='owned'</script>\u202e"><img src=x onerror="document.title='owned'">`;
/** As long as the API takes the name of a run, and without a place to break it at. */
const HOSTILE = ATTACK.padEnd(200, 'x');
const MOST_ENDLESS = 10_000;
const ENDLESS = HOSTILE.padEnd(MOST_ENDLESS, 'z');
const EVALUATIONS = extent({ short: 1000, full: 100_000 });
/** Makes a checkpoint one that no other test has. */
const NOTE = 'for a digest of its own';
const EARLY = LATE.replace('late', 'early');
/** Simpler than others with the same parts. */
const MORE_ADDRESSES: readonly [string, string][] = [
  ['/evaluations/ENDED/episodes/0', 'Replay'],
  ['/access', 'Quotas'],
  ['/evaluations/ev-none', 'There is no evaluation'],
  ['/rollouts', 'Rollouts'],
  ['/rollouts/ro-none', 'There is no stream'],
  ['/?run=RUN', 'Evaluations'],
  ['/evaluations/ENDED/episodes/none', 'There is no page'],
  ['/batches', 'Batches'],
  ['/agents', 'Agents'],
  ['/agents/ep-none', 'There is no episode'],
];
/** Whose controls are reached one after the other, in the short form. */
const BY_KEYBOARD: ReadonlySet<string> = new Set(['/', '/pools', '/agents/AGENT']);
const WIDTHS = [360, 1440, 3840] as const;
/** For axe: colours and places of all views; in the short form each in one of both. */
const LOOKS: readonly (readonly ['light' | 'dark', number])[] = [
  ['light', 1440],
  ['dark', 390],
  ...(isFullForm
    ? ([
        ['light', 390],
        ['dark', 1440],
      ] as const)
    : []),
];

const ROWS_DRAWN = 400;
/** Rows, drawn by the page's own modules. */
const DRAW_ROWS = `(async () => {
  const file = (end) => import(document.querySelector('link[href$="' + end + '"]').href);
  const files = ['lit-html/lit-html.js', 'views/row.ts'];
  const [{ html, render }, { renderRows, renderWhenDue }] = await Promise.all(files.map(file));
  const host = document.body.appendChild(document.createElement('div'));
  host.id = 'drawn';
  globalThis.drawRows = (text, now, state, round) => {
    const row = () => renderWhenDue({ state, inputs: [text], now, draw: () => html\`<tr><td>\${text}</td></tr>\` });
    const rows = renderRows([...Array(${ROWS_DRAWN}).keys()], (at) => round + '-' + at, row);
    render(html\`<table><tbody>\${rows}</tbody></table>\`, host);
  };
  globalThis.twoFrames = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())));
})()`;

let place: PageFixture;
/** An evaluation that has ended, and a later one of its run. */
let ended: string;
let later: string;
/** A comparison that has ended. */
let compared: string;
/** An agent's episode that is open, with a step. */
let agentEpisode: string;
/** An evaluation of a model that uses tools. */
let acted: string;
/** Of groups for a training, whose trainer takes none. */
let stream: string;
let hasHostileRows = false;

beforeAll(async () => {
  nock.enableNetConnect('127.0.0.1');
  place = await PageFixture.open();
  ended = await place.submit(60, { run: HOSTILE, version: 1 });
  later = await place.submit(50, { run: HOSTILE, version: 2 });
  const terms = { suite: 'code', agent: { uri: place.agent }, policy: HOSTILE, groupSize: 2, concurrency: 2, batch: 1, maxStaleness: 0 };
  stream = idSchema.parse(await place.send('/v1/rollouts', { ...terms, total: 1, keepFiltered: true })).id;
  compared = (
    await place.api('/v1/comparisons', {
      suite: 'cartpole',
      baseline: { uri: EARLY },
      candidates: [{ uri: LATE, run: HOSTILE, version: 3 }],
      margin: 10,
      labels: { batch: HOSTILE },
    })
  ).id;
  agentEpisode = episodeSchema.parse(await place.send('/v1/episodes', { task: 'fix-bug-in-sort-function', agent: HOSTILE })).episode;
  await place.send(`/v1/episodes/${agentEpisode}/steps`, {
    action: 'write_file',
    file: 'note.txt',
    content: HOSTILE.padEnd(MOST_ENDLESS, 'y'),
  });
  acted = (await place.api('/v1/evaluations', { suite: 'code', checkpoint: { uri: place.agent } })).id;
  for (const id of [ended, later, compared, acted]) await place.untilFinished(id);
  await using opened = await place.visit('/');
  await place.signIn(opened.page);
});
afterAll(async () => {
  await place?.[Symbol.asyncDispose]();
  nock.disableNetConnect();
});

const idSchema = z.looseObject({ id: z.string() });
const episodeSchema = z.looseObject({ episode: z.string() });
const issuedSchema = z.looseObject({ id: z.string(), token: z.string() });
const leasedSchema = z.looseObject({ items: z.array(z.looseObject({ group: z.string(), lease: z.int() })) });
const toldSchema = z.looseObject({ steps: z.array(z.looseObject({ verdict: z.looseObject({ reward: z.number() }) })) });
const answeredSchema = z.looseObject({
  summary: z.looseObject({ official: z.looseObject({ quantiles: z.looseObject({ p50: z.number() }) }) }),
});
const lineSchema = z.looseObject({ outcome: z.looseObject({ return: z.number() }) });
const boardSchema = z.looseObject({ groups: z.array(z.looseObject({ state: z.string(), mean: z.number().nullable() })) });

describe('the live page', () => {
  it('shows nothing but a form without a good token, and forgets all at the end of a session', async () => {
    await place.browser.context.clearCookies();
    await using opened = await place.visit(`/evaluations/${ended}`);
    const { page } = opened;
    await page.locator('input[name=token]:focus').waitFor();
    for (const [token, says] of [
      [`muster_0123456789abcdef_${'x'.repeat(43)}`, /^no such token .* mistyped/],
      ['muster_0123', /^what was given as the token is none of Muster; expected all of muster_…/],
    ] as const) {
      await page.getByLabel('Token').fill(token);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').getByText(says).waitFor();
    }
    expect(await page.locator('table').count()).toBe(0);
    await page.getByLabel('Token').fill(place.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    // The address said what to show.
    await page.getByRole('heading', { name: 'Episodes' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await page.reload();
    await page.getByLabel('Token').waitFor();
    expect(await page.locator('table').count()).toBe(0);
    await place.signIn(page);
  });

  it('shows an evaluation as it is accepted, played and answered, with the figures of the API', async () => {
    await using opened = await place.visit('/');
    const { page, complaints } = opened;
    const rows = page.locator('.evaluations tbody tr');
    await rows.nth(1).waitFor();
    const before = await rows.count();
    const id = await place.submit(40, { run: 'live', version: 7, cache: 'off' });
    const row = rows.filter({ hasText: 'live @ 7' });
    await row.getByText('finished').waitFor({ timeout: 120_000 });
    expect(await rows.count()).toBe(before + 1);
    const { running } = await place.api(`/v1/evaluations/${id}`);
    expect(await row.locator('td').nth(4).textContent()).toBe(String(running?.episodes));
    await row.getByRole('link', { name: /live @ 7/ }).click();
    await page.waitForURL(`**/evaluations/${id}`);
    await page.getByRole('img', { name: /running mean and its interval/ }).waitFor();
    const [mean = '', halfWidth = ''] = (await page.locator('.headline').textContent())?.split(' ± ') ?? [];
    expect(Number(mean)).toBeCloseTo(running?.mean ?? Number.NaN, 0);
    expect(Number(halfWidth)).toBeCloseTo(running?.halfWidth ?? Number.NaN, 0);
    const { summary } = answeredSchema.parse(await place.send(`/v1/evaluations/${id}`));
    const median = page.getByRole('figure', { name: 'Distribution of returns' }).locator('dd').nth(1);
    expect(Number(await median.textContent())).toBeCloseTo(summary.official.quantiles.p50, 0);
    expect(await page.locator('section[aria-labelledby=episodes] tbody tr').count()).toBeGreaterThanOrEqual(
      Math.min(100, running?.episodes ?? 0),
    );
    await page.goBack();
    await page.getByRole('heading', { name: 'Evaluations' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('lists the worst episodes first, and plays one again with its pictures', async () => {
    const borrowed = place.stage.path('borrowed');
    await cp(ANYTHING, borrowed, { recursive: true });
    await writeFile(path.join(borrowed, 'note.txt'), NOTE);
    const { id } = await place.api('/v1/evaluations', { suite: 'falling', checkpoint: { uri: borrowed } });
    await place.until(async () => (await place.api(`/v1/evaluations/${id}`)).state === 'finished');
    await using opened = await place.visit(`/evaluations/${id}`);
    const { page } = opened;
    await page.getByLabel('Order').selectOption('worst return first');
    await page.waitForURL(/ranking=worst/);
    const returns = page.locator('section[aria-labelledby=episodes] tbody tr td:nth-child(4)');
    await place.until(async () => {
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
    // Its checkpoint goes away, from where it was and from the store.
    await rm(borrowed, { recursive: true });
    await rm(await findStored(path.join(place.stage.stateDir, 'store'), NOTE));
    await page.getByRole('button', { name: 'Play once more' }).click();
    await page
      .getByRole('alert')
      .getByText(/note\.txt .* is no longer in the store, and .* does not have it either/)
      .waitFor();
    expect(await listViolations(page)).toEqual([]);
    expect(opened.complaints.filter((text) => !text.includes('422'))).toEqual([]);
  });

  it('shows what decided a comparison, and the pairs that disagree most side by side', async () => {
    await using opened = await place.visit(`/evaluations/${compared}`);
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
    await using listed = await place.visit('/agents');
    const row = listed.page.getByRole('region', { name: 'Episodes of agents' }).locator('tbody tr').first();
    await row.getByText('1 of ').waitFor();
    await using opened = await place.visit(`/agents/${agentEpisode}`);
    const { page, complaints } = opened;
    const steps = page.locator('.steps > li');
    await steps.first().getByText('What it changed').click();
    await steps.first().locator('.patch .added', { hasText: 'owned' }).waitFor();
    await place.send(`/v1/episodes/${agentEpisode}/steps`, { action: 'run', command: 'exit 3' });
    await steps.nth(1).getByText('exit code 3').first().waitFor();
    await row.getByText('2 of ').waitFor();
    await place.send(`/v1/episodes/${agentEpisode}/steps`, { action: 'submit' });
    await page.getByRole('list', { name: 'Stages of the verdict' }).getByText('compare').waitFor({ timeout: 120_000 });
    expect(await page.locator('.headline').textContent()).toBe('reward 0');
    expect(complaints).toEqual([]);
  });

  it('shows what an agent did in an episode of an evaluation: its calls, what each changed, and the verdict', async () => {
    await using opened = await place.visit(`/evaluations/${acted}`);
    const { page, complaints } = opened;
    await page.locator('section[aria-labelledby=episodes] tbody th a').first().click();
    const verdict = page.getByRole('region', { name: 'Verdict' });
    await verdict.getByRole('list', { name: 'Stages of the verdict' }).getByText('execute').waitFor();
    const [{ steps }, { outcome }] = await Promise.all([
      place.send(`/v1/evaluations/${acted}/transcripts/0`).then((answer) => toldSchema.parse(answer)),
      place.lines(`/v1/evaluations/${acted}/episodes?limit=1`).then(([line]) => lineSchema.parse(line)),
    ]);
    expect(steps[0]?.verdict.reward).toBe(outcome.return);
    await verdict.getByText(`reward ${outcome.return}`, { exact: true }).waitFor();
    const turn = page.locator('.steps > li').first();
    await turn.getByText('Changed /app/answer.txt').waitFor();
    expect(await turn.locator('.patch .added').allTextContents()).toEqual([expect.stringMatching(/^\+(42|no)/)]);
    // A line of a diff is a line of the page.
    expect((await turn.locator('.patch').innerText()).split('\n')).toContainEqual(expect.stringMatching(/^\+(42|no)$/));
    expect(await turn.getByRole('heading').textContent()).toMatch(/1\..*write_file.*submit/s);
    await page.getByRole('heading', { name: 'Replay' }).waitFor();
    // Of a policy there is none.
    expect(toldSchema.parse(await place.send(`/v1/evaluations/${ended}/transcripts/0`)).steps).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('shows the form again once the token is revoked while the page is open, and says why', async () => {
    const issued = issuedSchema.parse(await place.send('/v1/tokens', { principal: 'guest', role: 'viewer' }));
    await using opened = await place.visit('/pools');
    const { page } = opened;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').fill(issued.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('article', { name: 'pool local' }).waitFor();
    const revoked = await fetch(`${place.server.url}/v1/tokens/${issued.id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${place.token}` },
    });
    expect(revoked.status).toBe(200);
    // What asks next is refused: the click, or the stream, which the server ends by itself.
    await page
      .getByRole('link', { name: 'Evaluations' })
      .click({ timeout: 2000 })
      .catch(() => undefined);
    await page.getByRole('alert').getByText('the token was revoked').waitFor();
    expect(await page.locator('main table').count()).toBe(0);
    await page.getByLabel('Token').fill(place.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Evaluations' }).waitFor();
    await page.getByRole('link', { name: 'Access' }).click();
    await page.getByRole('row', { name: `token.revoke ${issued.id} principal guest, role viewer` }).waitFor();
  });

  it('draws rows that are far from the window every five seconds, when their state changes, and when one scrolls to them', async () => {
    await using opened = await place.visit('/pools');
    const { page } = opened;
    const last = page.locator('#drawn tr').last();
    const draw = async (text: string, now: number, state = 'running', round = 0): Promise<readonly (string | null)[]> => {
      await page.evaluate(`drawRows('${text}', ${now}, '${state}', ${round})`);
      return await Promise.all([page.locator('#drawn tr').first().textContent(), last.textContent()]);
    };
    await page.evaluate(DRAW_ROWS);
    expect(await draw('first', 0)).toEqual(['first', 'first']);
    // From their second drawing on, the browser tells which of them are near.
    expect(await draw('second', 1)).toEqual(['second', 'second']);
    await page.evaluate('twoFrames()');
    expect(await draw('third', 2)).toEqual(['third', 'second']);
    expect(await draw('fourth', 5001)).toEqual(['fourth', 'fourth']);
    expect(await draw('fifth', 5002, 'finished')).toEqual(['fifth', 'fifth']);
    expect(await draw('sixth', 5003, 'finished')).toEqual(['sixth', 'fifth']);
    await last.scrollIntoViewIfNeeded();
    await last.getByText('sixth').waitFor();
    await page.evaluate('twoFrames()');
    expect(await draw('seventh', 5004, 'finished')).toEqual(['sixth', 'seventh']);
    // Of rows that are gone nothing stays behind, not even the comments that lit leaves.
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    const countNodes = async (round: number): Promise<number> => {
      for (const text of ['one', 'other']) await draw(text, round, 'running', round);
      await page.evaluate('twoFrames()');
      await session.send('HeapProfiler.collectGarbage');
      return (await readMetrics(session)).get('Nodes') ?? Number.NaN;
    };
    const before = await countNodes(1);
    for (let round = 2; round < 8; round += 1) await countNodes(round);
    expect((await countNodes(8)) - before).toBeLessThan(ROWS_DRAWN / 2);
  });

  it('draws one run over another, and marks what comparisons decided', async () => {
    for (const version of [1, 2]) await place.untilFinished(await place.submit(60 - version, { run: 'other', version }));
    await using opened = await place.visit(`/?run=${encodeURIComponent(HOSTILE)}`);
    const { page, complaints } = opened;
    await page.getByRole('img', { name: /2 versions of .*verdicts: promote at 3/ }).waitFor();
    await page.getByLabel('Over it').selectOption('other');
    await page.waitForURL(/beside=other/);
    await page.getByRole('img', { name: /2 versions of other; verdicts/ }).waitFor();
    expect(await page.locator('.evaluations tbody tr', { hasText: 'other @' }).count()).toBe(2);
    await page.getByRole('button', { name: 'other' }).click();
    await page.getByRole('img', { name: /2 versions of other/ }).waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  });

  it('draws an evaluation over another of its suite, without a verdict', async () => {
    await using opened = await place.visit(`/evaluations/${ended}?beside=${later}`);
    const { page, complaints } = opened;
    await page.getByRole('img', { name: /^The running means and their intervals/ }).waitFor();
    const rows = page.getByRole('region', { name: 'Evaluations beside each other' }).locator('tbody tr');
    expect(await rows.count()).toBe(2);
    const { running } = await place.api(`/v1/evaluations/${later}`);
    expect(await rows.nth(1).locator('td').nth(2).textContent()).toBe(String(running?.episodes));
    expect(await listViolations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('shows the groups of a training as they are played, leased and acknowledged', async () => {
    await using opened = await place.visit(`/rollouts/${stream}`);
    const { page, complaints } = opened;
    const row = page.getByRole('region', { name: 'Groups of the stream' }).locator('tbody tr').first();
    await row.getByText('ready').waitFor();
    const { groups } = boardSchema.parse(await place.send(`/v1/rollouts/${stream}/board`));
    expect(await row.locator('td').nth(3).textContent()).toBe(String(groups[0]?.mean));
    await page.getByText('Nothing begins until the trainer').waitFor();
    const { items } = leasedSchema.parse(await place.send(`/v1/rollouts/${stream}/groups?lease=600`));
    await row.getByText(' left').waitFor();
    await place.send(`/v1/rollouts/${stream}/ack`, { groups: items.map(({ group, lease }) => ({ group, lease })) });
    await row.getByText('acknowledged').waitFor();
    await page.getByText('completed').waitFor();
    expect(complaints).toEqual([]);
  });

  it('uses the clock of the server if that of the browser is wrong', async () => {
    await using opened = await place.visit('/');
    const { page } = opened;
    await page.getByRole('heading', { name: 'Evaluations' }).waitFor();
    await page.clock.setSystemTime(Date.now() + 86_400_000);
    await page.getByRole('link', { name: 'Batches' }).click();
    await page.getByRole('link', { name: 'Evaluations' }).click();
    await page.getByRole('heading', { name: 'Evaluations' }).waitFor();
    let shown: readonly string[] = [];
    await place.until(async () => {
      const ages = await page.locator('.evaluations tbody time').allTextContents();
      shown = ages.filter((age) => !/^\d+ (s|min) ago$/.test(age));
      return ages.length > 0 && shown.length === 0;
    });
    expect(shown).toEqual([]);
  });

  it('closes its streams while it is hidden, and catches up when it is visible again', async () => {
    await using opened = await place.visit('/');
    const { page } = opened;
    const connection = page.locator('.connection');
    await connection.getByText('live', { exact: true }).waitFor();
    const turn = (visibility: 'hidden' | 'visible'): Promise<unknown> =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { value: '${visibility}', configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await turn('hidden');
    await connection.getByText('connecting').waitFor();
    const id = await place.submit(55, { run: 'asleep', version: 1 });
    await place.until(async () => (await place.api(`/v1/evaluations/${id}`)).state === 'finished');
    expect(await page.locator('.evaluations tbody tr', { hasText: 'asleep @ 1' }).count()).toBe(0);
    await turn('visible');
    await page.locator('.evaluations tbody tr', { hasText: 'asleep @ 1' }).getByText('finished').waitFor();
    await connection.getByText('live', { exact: true }).waitFor();
  });

  it('says that a killed server is away, and continues when it is back, with what was being played, also where what is looked at was deleted', async () => {
    const id = await place.submit(58, { run: 'deleted', version: 1 });
    await place.untilFinished(id);
    await using opened = await place.visit('/pools');
    await using deleted = await place.visit(`/evaluations/${id}`);
    const { page } = opened;
    await page.getByText('live', { exact: true }).waitFor();
    await deleted.page.getByRole('heading', { name: 'Episodes' }).waitFor();
    const { id: resumed } = await place.api('/v1/evaluations', { suite: 'long', checkpoint: { uri: LATE, run: 'resumed', version: 1 } });
    await using going = await place.visit(`/evaluations/${resumed}`);
    const readEpisodes = async (): Promise<number> =>
      Number((await going.page.locator('.figures dd').first().textContent())?.replace(/\D/g, ''));
    // More than outcomes can be ahead of the fold, so that the next server counts fewer of its own than there are in all.
    await place.until(async () => (await readEpisodes()) > 500);
    // While it runs: its returns so far, what its sandboxes do, and what they use.
    await going.page.getByRole('figure', { name: 'Distribution of returns' }).waitFor();
    const lanes = going.page.getByRole('region', { name: 'Table of sandboxes' }).locator('tbody tr');
    await lanes.nth(1).waitFor();
    const playing = playingSchema.parse(await place.send(`/v1/evaluations/${resumed}/playing`));
    expect(await lanes.locator('code').allTextContents()).toEqual(playing.sandboxes?.lanes.map(({ name }) => name));
    expect(playing.returns?.tasks.reduce((sum, { episodes }) => sum + episodes, 0)).toBeGreaterThan(0);
    expect(await listViolations(going.page)).toEqual([]);
    await page.getByText('processors in use').waitFor();
    // A sandbox that dies is a cell for a minute, with what the provider says of it.
    const [victim] = runnersInside(place.stage.stateDir);
    expect(victim).toBeDefined();
    victim?.kill();
    const pool = page.getByRole('article', { name: 'pool local' });
    await pool
      .locator('.warning', { hasText: /^lost / })
      .first()
      .waitFor();
    const [{ lost } = { lost: [] }] = poolListSchema.parse(await place.send('/v1/pools')).items;
    expect(await pool.locator('.cells .lost').count()).toBe(lost.length);
    expect(await pool.locator('.warning').allTextContents()).toEqual(lost.map(({ detail }) => expect.stringContaining(detail)));
    expect(await listViolations(page)).toEqual([]);
    place.server.command.signal('SIGKILL');
    await page.getByText('connection lost').waitFor();
    const before = await readEpisodes();
    await place.restart((database) => void database.prepare('DELETE FROM evaluations WHERE id = ?').run(id));
    await page.getByText('live', { exact: true }).waitFor();
    expect(await page.getByRole('article', { name: 'pool local' }).count()).toBe(1);
    await deleted.page.getByRole('heading', { name: `There is no evaluation ${id}` }).waitFor();
    expect(await deleted.page.locator('main table').count()).toBe(0);
    await using over = await place.visit(`/evaluations/${ended}`);
    await over.page.getByRole('region', { name: 'Sandboxes' }).getByText('It has nothing of this one: it was restarted').waitFor();
    // What was being played goes on, and its page with it.
    await going.page.getByText('Episodes that were played earlier').waitFor();
    await place.until(async () => (await readEpisodes()) > before);
    expect(await going.page.locator('.head .state').first().textContent()).toBe('running');
    going.page.once('dialog', (dialog) => void dialog.accept());
    await going.page.getByRole('button', { name: 'Cancel' }).click();
    await going.page.getByText('cancelled').first().waitFor();
  });

  it.each<[string, string]>([
    ['/', 'Evaluations'],
    ['/evaluations/ENDED', 'Episodes'],
    ['/pools', 'Pools'],
    ['/evaluations/COMPARED', 'Pairs that disagree most'],
    [`/batches/${encodeURIComponent(HOSTILE)}`, HOSTILE],
    ['/agents/AGENT', 'Steps'],
    ['/evaluations/ACTED/episodes/0', 'Transcript'],
    ['/rollouts/STREAM', 'Groups'],
    ...(isFullForm ? MORE_ADDRESSES : []),
  ])('%s has names as text, fits any window, and has no barrier that axe finds', async (address, heading) => {
    const names = { ENDED: ended, COMPARED: compared, AGENT: agentEpisode, ACTED: acted, STREAM: stream, RUN: encodeURIComponent(HOSTILE) };
    await using opened = await place.visit(Object.entries(names).reduce((text, [name, value]) => text.replace(name, () => value), address));
    const { page, complaints } = opened;
    await page.getByRole('heading', { name: heading }).first().waitFor();
    expect(await page.title()).toMatch(/ · Muster$/);
    expect(await page.locator('main img, main script').count()).toBe(0);
    for (const [colorScheme, width] of LOOKS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      expect([colorScheme, width, await listViolations(page)]).toEqual([colorScheme, width, []]);
    }
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.locator('html').evaluate((root) => Number(root.scrollWidth)), `${width} pixels`).toBeLessThanOrEqual(width);
    }
    expect(isFullForm || BY_KEYBOARD.has(address) ? await listUnreachable(page) : []).toEqual([]);
    // On paper there is nothing to press.
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('h1').first().isVisible()).toBe(true);
    expect(await page.locator('header, button, select').filter({ visible: true }).count()).toBe(0);
    expect(complaints.filter((text) => !text.includes('404') && !text.includes('400'))).toEqual([]);
  });

  it('shows the curve of a run whose name is hostile, and the report of its evaluations', async () => {
    await using opened = await place.visit(`/?run=${encodeURIComponent(HOSTILE)}`);
    const { page } = opened;
    await page.getByRole('figure').waitFor();
    expect(await page.locator('.evaluations tbody tr').count()).toBe(3);
    const report = await page.request.get(`${place.server.url}/v1/evaluations/${ended}/report`);
    expect([report.status(), report.headers()['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await report.text()).toContain('The interval, episode by episode');
  });

  it('shows the form again once the token has expired, and says why', async () => {
    const { token, id } = issuedSchema.parse(await place.send('/v1/tokens', { principal: 'guest', role: 'viewer', lifetimeSeconds: 600 }));
    await using opened = await place.visit('/pools');
    const { page } = opened;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await place.signIn(page, token);
    await page.getByRole('article', { name: 'pool local' }).waitFor();
    await addHostileRows((database) => void database.prepare('UPDATE tokens SET expires_at = 1 WHERE id = ?').run(id));
    await page.getByRole('alert').getByText('the token has expired').waitFor();
    expect(await page.locator('main article').count()).toBe(0);
    await place.signIn(page);
    await page.getByRole('article', { name: 'pool local' }).waitFor();
  });

  it(`has names of ${MOST_ENDLESS} characters as text, and fits any window`, async () => {
    if (!hasHostileRows) await addHostileRows();
    const refused = await place.submit(60, { run: ENDLESS, version: 1 }).catch(String);
    expect(refused).toMatch(/400.*run/s);
    for (const address of ['/?state=finished', `/evaluations/${ended}`, `/evaluations/${ended}/episodes/0`, '/batches']) {
      await using opened = await place.visit(address);
      const { page, complaints } = opened;
      await page.locator('main bdi', { hasText: 'zzzz' }).first().waitFor();
      expect(await page.locator('main img, main script').count()).toBe(0);
      await page.setViewportSize({ width: 360, height: 900 });
      const width = await page.locator('html').evaluate((root) => Number(root.scrollWidth));
      expect([address, Math.min(width, 361)]).toEqual([address, 360]);
      expect(complaints).toEqual([]);
    }
  });

  it(`opens at once with ${EVALUATIONS} evaluations, and continues where the list ends`, async () => {
    if (!hasHostileRows) await addHostileRows();
    await using opened = await place.visit('/?suite=cartpole&state=finished');
    const { page, complaints } = opened;
    const rows = page.locator('.evaluations tbody tr');
    await rows.first().waitFor();
    expect(await rows.count()).toBe(100);
    await page.getByRole('button', { name: 'Show earlier ones' }).click();
    await rows.nth(199).waitFor();
    expect(await rows.count()).toBe(200);
    expect(complaints).toEqual([]);
  });
});

/** The file of a store that has this content. */
async function findStored(store: string, content: string): Promise<string> {
  const digest = createHash('sha256').update(content).digest('hex');
  const found = (await readdir(store, { recursive: true })).filter((name) => name.endsWith(digest) || name.endsWith(digest.slice(2)));
  expect(found).toHaveLength(1);
  return path.join(store, found[0] ?? '');
}

/** Restarts the server with rows that its API would not accept, or only one by one. @param edit changes more in the same restart. */
async function addHostileRows(edit: (database: DatabaseSync) => void = () => undefined): Promise<void> {
  place.server.command.signal('SIGTERM');
  await place.restart((database) => {
    edit(database);
    nameEndlessly(database, ended);
    copyEvaluation(database, later);
  });
  hasHostileRows = true;
}

/** As no caller can, so that a later, less strict API is safe, too. It is the latest. */
function nameEndlessly(database: DatabaseSync, id: string): void {
  const names = 'run = ?, suite = ?, principal = ?, labels = ?, created_at = created_at + 86400000';
  const labels = JSON.stringify({ batch: ENDLESS });
  database.prepare(`UPDATE evaluations SET ${names} WHERE id = ?`).run(ENDLESS, ENDLESS, ENDLESS, labels, id);
}

function copyEvaluation(database: DatabaseSync, id: string): void {
  const columns = database.prepare("SELECT name FROM pragma_table_info('evaluations') WHERE name NOT IN ('key', 'id')").all();
  const copied = columns.map(({ name }) => String(name)).join(', ');
  database.exec(`WITH RECURSIVE made(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM made WHERE n < ${EVALUATIONS})
    INSERT INTO evaluations (id, ${copied}) SELECT printf('ev-copy-%06d', n), ${copied} FROM evaluations, made WHERE id = '${id}'`);
}
