import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { findOwnPython } from '../adapters/sandbox/local/template/own-python.ts';
import { systemClock } from '../kernel/clock.ts';
import { withTimeout } from '../kernel/deadline.ts';
import { InfrastructureError, InputError } from '../kernel/errors.ts';
import { PACKAGE_ROOT } from '../kernel/package-root.ts';
import { tryParseJson } from '../kernel/json-bounds.ts';

/** Logs results where people look at the curves of their trainings. The libraries for that are in Python, so a Python program does it. */

export interface LogEntry {
  /** Step of the training. */
  readonly step: number;
  /** Figures by the names of `muster.sinks.sink.FIGURES`. */
  readonly figures: Readonly<Record<string, number>>;
  /** A report for people, in HTML. */
  readonly page?: string;
}

export interface ResultLog extends AsyncDisposable {
  /** @throws InfrastructureError `log.failed` when the program has ended, or does not answer. */
  log(entry: LogEntry): Promise<void>;
}

export type OpenLog = typeof openResultLog;

/** Names the interpreter that has the libraries, where it differs from the sandboxes' one. */
const LOG_PYTHON = 'MUSTER_LOG_PYTHON';
/** Time to import a large library on a busy machine. */
const OPEN_MS = 180_000;
/** Some libraries send the log over the network before they close. */
const CLOSE_MS = 120_000;
const ENTRY_MS = 60_000;
const answerSchema = z.union([z.object({ opened: z.literal(true) }), z.object({ refused: z.string() })]);

/**
 * @param targets each a sink's name, or `name:directory`.
 * @throws InputError `log.refused` when one cannot be opened; InfrastructureError `log.failed`.
 */
export async function openResultLog(targets: readonly string[]): Promise<ResultLog> {
  await using opening = new AsyncDisposableStack();
  const pages = opening.adopt(await mkdtemp(join(tmpdir(), 'muster-log-')), (directory) => rm(directory, { recursive: true, force: true }));
  const program = opening.use(new SinkProgram(targets));
  const line = await program.answer(OPEN_MS);
  const answer = answerSchema.safeParse(tryParseJson(line));
  if (!answer.success) throw createFailure(`said ${JSON.stringify(line.slice(0, 200))}`);
  if ('refused' in answer.data) throw new InputError('log.refused', `--log ${answer.data.refused}`);
  const opened = opening.move();
  return {
    async log({ step, figures, page }) {
      const path = join(pages, `step-${step}.html`);
      if (page !== undefined) await writeFile(path, page);
      await program.send(JSON.stringify({ step, figures, ...(page === undefined ? {} : { page: path }) }));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** `python -m muster.sinks`: it ends with its input, and so with this process, however that ends. */
class SinkProgram implements AsyncDisposable {
  readonly #child;
  readonly #lines;
  readonly #ended: Promise<unknown>;

  constructor(targets: readonly string[]) {
    const { path } = findOwnPython(PACKAGE_ROOT);
    const own = join(PACKAGE_ROOT, 'clients', 'python', 'src');
    // When it was installed by pip, the interpreter finds the package itself.
    const environment = existsSync(own) ? { ...process.env, PYTHONPATH: own } : process.env;
    this.#child = spawn(process.env[LOG_PYTHON] ?? path, ['-m', 'muster.sinks', ...targets], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: environment,
    });
    this.#ended = once(this.#child, 'close').catch(() => undefined);
    // Input that it did not read shows in the missing answer.
    this.#child.stdin.on('error', () => undefined);
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async send(line: string): Promise<void> {
    this.#child.stdin.write(`${line}\n`);
    await this.answer(ENTRY_MS);
  }

  /** @throws InfrastructureError when there is no answer in time. */
  async answer(milliseconds: number): Promise<string> {
    const next = await withTimeout(systemClock, milliseconds, this.#lines.next(), () =>
      createFailure(`says nothing for ${milliseconds / 1000} s`),
    );
    if (next.done === true) throw createFailure('has ended; its output is above');
    return next.value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    try {
      await withTimeout(systemClock, CLOSE_MS, this.#ended, () => createFailure(`does not end within ${CLOSE_MS / 1000} s`));
    } catch (error) {
      this.#child.kill('SIGKILL');
      throw error;
    }
  }
}

function createFailure(why: string): InfrastructureError {
  const remedy = `${LOG_PYTHON} names the Python that has the libraries`;
  return new InfrastructureError('log.failed', `--log: the program that logs (python -m muster.sinks) ${why}; ${remedy}`);
}
