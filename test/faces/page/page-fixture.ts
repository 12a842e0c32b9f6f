import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { BrowserContext, Page } from 'playwright-core';
import { stringify } from 'yaml';
import { z } from 'zod';
import { MusterServer } from '../../end-to-end/muster-server.ts';
import { ANYTHING, CARTPOLE, LATE, REPOSITORY, SOURCES, Stage } from '../../end-to-end/stage.ts';
import { ANSWER_TASK } from '../../support/agent-suite-fixture.ts';
import { openBrowser, type Browser } from '../../support/chromium.ts';
import { freePort } from '../../support/free-port.ts';
import { writeFiles } from '../../support/grading-fixture.ts';
import { ScriptedModelServer } from '../../support/model-server.ts';

const UNBOUND = Object.fromEntries(
  ['concurrentEpisodes', 'checkpointBytes', 'episodesPerDay', 'openEpisodes'].map((name) => [name, 'unlimited']),
);

/** It serves all tests of a file. */
const PATIENT = { deadlineMs: 900_000 };

const itemSchema = z.looseObject({
  id: z.string(),
  state: z.string(),
  running: z
    .looseObject({ mean: z.number().nullable().optional(), halfWidth: z.number().nullable().optional(), episodes: z.int() })
    .nullable(),
});
const axeSchema = z.array(z.looseObject({ id: z.string(), nodes: z.array(z.looseObject({ html: z.string() })) }));
const reachedSchema = z.tuple([z.string(), z.string()]);
type Item = z.infer<typeof itemSchema>;

export interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** What the browser had to complain about, and requests to other hosts. */
  readonly complaints: readonly string[];
}

/** A real server, a model that it can ask, and a browser. */
export class PageFixture implements AsyncDisposable {
  readonly stage: Stage;
  readonly browser: Browser;
  /** Of an operator. */
  readonly token: string;
  /** File of an agent that is a model. */
  readonly agent: string;
  server: MusterServer;
  readonly #config: string;
  readonly #opened: AsyncDisposableStack;

  private constructor(
    opened: AsyncDisposableStack,
    parts: Pick<PageFixture, 'stage' | 'browser' | 'token' | 'agent' | 'server'>,
    config: string,
  ) {
    this.stage = parts.stage;
    this.browser = parts.browser;
    this.token = parts.token;
    this.agent = parts.agent;
    this.server = parts.server;
    this.#config = config;
    this.#opened = opened;
  }

  static async open(): Promise<PageFixture> {
    await using opening = new AsyncDisposableStack();
    const stage = opening.use(await Stage.open());
    const model = opening.use(await ScriptedModelServer.start(({ seed = 0 }) => solve(seed)));
    const falling = await stage.write('falling.json', {
      name: 'falling',
      files: path.join(import.meta.dirname, '../../end-to-end/suites/environments'),
      environment: 'drawn:Falling',
      failureScores: { timeout: 0, crash: 0 },
      stop: { rule: 'fixed', episodes: 8 },
    });
    // No test outlasts it, however fast the machine is.
    const long = await stage.write('long.json', {
      name: 'long',
      environment: 'gymnasium:CartPole-v1',
      reward: { bounds: [0, 500] },
      stop: { rule: 'fixed', episodes: 10_000_000 },
    });
    await writeFiles(stage.path('tasks/answer'), ANSWER_TASK);
    const code = await stage.write('code.json', { name: 'code', tasks: { from: 'tasks' }, stop: { rule: 'fixed', episodes: 2 } });
    const agent = stage.path('agent.yaml');
    await writeFile(agent, stringify({ agent: 'model', endpoint: 'trainer', model: 'org/policy', tokenIds: 'vllm' }));
    const config = await stage.write('page.json', {
      stateDir: stage.stateDir,
      sources: { roots: [...SOURCES.roots, ANYTHING, agent, stage.path('borrowed')] },
      models: { endpoints: { trainer: { url: model.url } } },
      pool: { max: 2 },
      quotas: { default: { ...UNBOUND, waitingEvaluations: 40 } },
      arena: { tasks: [path.join(REPOSITORY, 'examples/code')] },
      server: { port: await freePort(), access: 'tokens', suites: { cartpole: CARTPOLE, falling, long, code } },
    });
    const token = await stage.token('team', 'operator');
    const server = await MusterServer.start(stage, config, PATIENT);
    const browser = opening.use(await openBrowser());
    return new PageFixture(opening.move(), { stage, browser, token, agent, server }, config);
  }

  /** @param edit changes what the server has stored while it is away. */
  async restart(edit: (database: DatabaseSync) => void): Promise<void> {
    await this.server.command.ended;
    const database = new DatabaseSync(path.join(this.stage.stateDir, 'muster.db'));
    edit(database);
    database.close();
    this.server = await MusterServer.start(this.stage, this.#config, PATIENT);
  }

  async api(address: string, body?: object): Promise<Item> {
    return itemSchema.parse(await this.send(address, body));
  }

  /** Documents that are answered one a line. */
  async lines(address: string): Promise<readonly unknown[]> {
    const answer = await fetch(`${this.server.url}${address}`, { headers: { authorization: `Bearer ${this.token}` } });
    return (await answer.text())
      .split('\n')
      .filter((line) => line !== '')
      .map((line): unknown => JSON.parse(line));
  }

  async send(address: string, body?: object): Promise<unknown> {
    const content = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${this.server.url}${address}`, { ...content, headers });
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    return await answer.json();
  }

  async submit(
    halfWidth: number,
    { run, version, ...more }: { readonly run: string; readonly version: number; readonly cache?: 'off' },
  ): Promise<string> {
    const stop = { rule: 'certified', halfWidth };
    return (await this.api('/v1/evaluations', { suite: 'cartpole', checkpoint: { uri: LATE, run, version }, stop, ...more })).id;
  }

  async until(isSo: () => Promise<boolean>): Promise<void> {
    await this.server.command.until('what the test waits for', isSo);
  }

  async untilFinished(id: string): Promise<void> {
    await this.until(async () => (await this.api(`/v1/evaluations/${id}`)).state === 'finished');
  }

  async visit(address: string, context: BrowserContext = this.browser.context): Promise<Visit> {
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol !== 'data:' && origin !== this.server.url) complaints.push(`a request to ${request.url()}`);
    });
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${this.server.url}${address}`);
    return { page, complaints, [Symbol.asyncDispose]: () => page.close() };
  }

  /** The browser keeps the session for the visits that follow. */
  async signIn(page: Page, token = this.token): Promise<void> {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened.disposeAsync();
  }
}

function solve(seed: number): ReturnType<Parameters<typeof ScriptedModelServer.start>[0]> {
  const content = seed % 2 === 0 ? '42\n' : 'no\n';
  return {
    calls: [
      { name: 'write_file', arguments: { file: 'answer.txt', content } },
      { name: 'submit', arguments: {} },
    ],
  };
}

const CONTROLS = 'a[href], button:enabled, input:enabled, select:enabled, summary, [tabindex="0"]';
const MOST_TABS = 400;

/** Controls that one does not reach by the tabulator, or of which one does not see that they are reached. */
export async function listUnreachable(page: Page): Promise<readonly string[]> {
  const controls = await page.locator(CONTROLS).filter({ visible: true }).all();
  const reached = new Set<string>();
  await page.evaluate(`document.querySelectorAll('${CONTROLS}').forEach((control, at) => (control.testPlace = String(at)))`);
  for (let pressed = 0; pressed < MOST_TABS; pressed += 1) {
    await page.keyboard.press('Tab');
    const [place, outline] = reachedSchema.parse(
      await page.evaluate(`[document.activeElement.testPlace ?? '', getComputedStyle(document.activeElement).outlineStyle]`),
    );
    if (place === '' || reached.has(place)) break;
    if (outline !== 'none') reached.add(place);
  }
  const told = await Promise.all(
    controls.map(async (control) =>
      control.evaluate((element) => [String(Reflect.get(element, 'testPlace')), element.outerHTML.slice(0, 100)]),
    ),
  );
  return told.flatMap(([place = '', html = '']) => (reached.has(place) ? [] : [html]));
}

/** What axe finds. The policy of the page lets no script of the test in, so it comes by the debugger. */
export async function listViolations(page: Page): Promise<readonly string[]> {
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const found = axeSchema.parse(await page.evaluate(`${axe}; axe.run(document).then(({ violations }) => violations)`));
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 100)).join(' | ')}`);
}
