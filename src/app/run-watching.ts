import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Egress } from '../service/access/egress.ts';
import { parseObjectLocation } from '../adapters/checkpoints/objects/object-store.ts';
import { suggestNearest } from '../adapters/files/nearest-path.ts';
import { CheckedRequests } from '../adapters/http/checked-requests.ts';
import { createRecordFile } from '../adapters/files/record-file.ts';
import { writeWholeFile } from '../adapters/files/whole-file.ts';
import { createBucketStores } from './checkpoints/bucket-stores.ts';
import type { Config } from '../config/config.ts';
import { formatCanonicalJson, digestBytes } from '../kernel/canonical-json.ts';
import { systemClock } from '../kernel/clock.ts';
import { Deadline } from '../kernel/deadline.ts';
import { InfrastructureError, InputError, getMessage } from '../kernel/errors.ts';
import type { LoadedSuite, Muster } from './main.ts';
import type { Progress } from '../orchestrator/facts/progress.ts';
import type { Summary } from '../orchestrator/results/summary.ts';
import type { StopOverride } from '../orchestrator/suite/suite-definition.ts';
import { toCheckpointUri, EVERYWHERE, isUri, createSourceForOwner } from './checkpoints/own-checkpoints.ts';
import { createSignedHeaders } from '../service/upkeep/webhook-deliverer.ts';
import { RunWatch } from '../service/watching/run-watch.ts';
import type { WatchEvent } from '../service/watching/watch-event.ts';
import type { StalePolicy } from '../service/watching/watch-plan.ts';
import { buildScore, type Score, type WatchRecord } from '../service/watching/watch-record.ts';

/** Watching a training run. Part of the composition root. */

export interface RunWatchRequest {
  /** Directory of this machine, gs://bucket/prefix or s3://bucket/prefix. */
  readonly run: string;
  /** Path of the suite file. */
  readonly suite: string;
  readonly stop?: StopOverride;
  readonly marker?: string;
  readonly stale: StalePolicy;
  readonly everySeconds: number;
  readonly once: boolean;
  /** Receives the result of each checkpoint. */
  readonly webhook?: string;
  /** Path or URI of the object that names the best checkpoint. */
  readonly best?: string;
}

export interface RunWatchHooks {
  readonly signal: AbortSignal;
  onEvent(event: WatchEvent): void;
  /** Called after `onEvent` of the same checkpoint. @param count of checkpoints that this watch has evaluated, including this one. */
  onEvaluated(event: Extract<WatchEvent, { event: 'evaluated' }>, summary: Summary, count: number): Promise<void>;
  /** Runs the evaluation of one checkpoint, so that its progress can be shown. */
  during<Value>(name: string, evaluation: (onProgress: (progress: Progress) => void) => Promise<Value>): Promise<Value>;
  /** Called when a webhook could not be delivered. */
  onUnreported(error: unknown): void;
}

const ANSWER_MS = 15_000;

/** @throws as `RunWatch.run` does, and InputError when the suite or the run's URI are wrong. */
export async function watchRun(muster: Muster, config: Config, request: RunWatchRequest, hooks: RunWatchHooks): Promise<WatchRecord> {
  const uri = checkWatchable(request.run);
  const suite = await muster.loadSuite({ suite: request.suite, ...(request.stop ? { stop: request.stop } : {}) }, hooks.signal);
  if (request.best !== undefined) await assertNamesFile(request.best);
  const post = request.webhook === undefined ? undefined : createWebhookPost(request.webhook, config, { run: uri, suite });
  const { marker, stale, everySeconds, once, best } = request;
  /** Summaries of checkpoints that were evaluated and not yet reported. */
  const answered = new Map<string, Summary>();
  let evaluated = 0;
  const log = async (event: WatchEvent): Promise<void> => {
    const summary = answered.get(event.name);
    answered.delete(event.name);
    if (event.event === 'evaluated' && summary) await hooks.onEvaluated(event, summary, (evaluated += 1));
  };
  const watch = (): Promise<WatchRecord> =>
    RunWatch.run(
      { uri, marker, stale, everyMs: everySeconds * 1000, once },
      {
        source: createSourceForOwner(config, systemClock),
        maxFiles: config.checkpoints.maxFiles,
        memory: createRecordFile(getRecordPath(config, uri, suite), systemClock),
        clock: systemClock,
        evaluate: async (name, checkpoint, signal, after) => {
          const played = hooks.during(name, (onProgress) =>
            muster.evaluateLoaded(suite, { checkpoint }, { signal, onProgress, ...(after && { after }) }),
          );
          const summary = await played;
          answered.set(name, summary);
          return buildScore(name, summary);
        },
        report: async (event, signal) => {
          hooks.onEvent(event);
          await attemptHook(hooks, () => log(event));
          await attemptHook(hooks, async () => post?.(event, signal));
        },
        pointTo: (score, signal) =>
          attemptHook(hooks, async () => (best === undefined ? undefined : writeBest(best, config, { suite, score }, signal))),
      },
      hooks.signal,
    );
  return isUri(uri) ? watch() : suggestNearest(uri, watch);
}

/** @returns whether it succeeded; a failure is reported. */
async function attemptHook(hooks: RunWatchHooks, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!hooks.signal.aborted) hooks.onUnreported(error);
    return false;
  }
}

function checkWatchable(run: string): string {
  const uri = toCheckpointUri(run);
  if (!isUri(uri) || /^(gs|s3):/i.test(uri)) return uri;
  throw new InputError('watch.uri', `watch: ${run} cannot be watched; expected a directory, gs://bucket/prefix or s3://bucket/prefix`);
}

/** Returns the path of the record of evaluated checkpoints, one for each run, suite and stopping rule. */
function getRecordPath({ stateDir }: Config, uri: string, { definition }: LoadedSuite): string {
  const name = digestBytes(formatCanonicalJson({ uri, suite: definition.digest, stop: definition.stop })).replace('sha256:', '');
  return join(stateDir, 'watches', `${name}.json`);
}

type Post = (event: WatchEvent, signal: AbortSignal) => Promise<void>;

/** Signs like a server's webhooks, if there is a secret. */
function createWebhookPost(url: string, { server: { webhookSecret } }: Config, { run, suite }: { run: string; suite: LoadedSuite }): Post {
  const egress = new Egress(EVERYWHERE, 'webhooks');
  assertWebhookUrl(egress, url);
  const requests = new CheckedRequests({ egress, clock: systemClock });
  return async (event, signal) => {
    if (event.event === 'troubled') return;
    const { name, digest } = suite.definition;
    const body = JSON.stringify({ schema: 'muster.watch-event/1', run, suite: { name, digest }, ...event });
    const seconds = Math.floor(systemClock.date().getTime() / 1000);
    const headers =
      webhookSecret === '' ? { 'content-type': 'application/json' } : createSignedHeaders(randomUUID(), seconds, body, webhookSecret);
    using deadline = new Deadline(systemClock, ANSWER_MS, () => createWebhookError(url, `no answer within ${ANSWER_MS / 1000} s`), signal);
    using answer = await requests.send(url, { method: 'POST', headers, body }, deadline.signal);
    if (answer.status < 200 || answer.status >= 300) throw createWebhookError(url, `the answer was ${answer.status}`);
  };
}

function assertWebhookUrl(egress: Egress, url: string): void {
  try {
    egress.assertUrl(url);
  } catch (error) {
    throw error instanceof InputError ? new InputError(error.code, `--webhook ${error.message}`) : error;
  }
}

function createWebhookError(url: string, why: string): InfrastructureError {
  return new InfrastructureError('watch.webhook', `watch: the webhook to ${new URL(url).host} did not arrive: ${why}`);
}

/** @throws InputError `watch.best`, before anything is played. */
async function assertNamesFile(to: string): Promise<void> {
  const uri = toCheckpointUri(to);
  const expected = 'expected a file, gs://bucket/name or s3://bucket/name';
  if (isUri(uri)) {
    if (!/^(gs|s3):/i.test(uri)) throw new InputError('watch.best', `--best ${to}: it cannot be written; ${expected}`);
    parseObjectLocation(uri);
  } else if ((await stat(uri).catch(() => undefined))?.isDirectory() === true) {
    throw new InputError('watch.best', `--best ${to} is a directory; ${expected}`);
  }
}

async function writeBest(to: string, config: Config, of: { suite: LoadedSuite; score: Score }, signal: AbortSignal): Promise<void> {
  const { name, digest } = of.suite.definition;
  const text = `${JSON.stringify({ schema: 'muster.best/1', suite: { name, digest }, ...of.score }, undefined, 2)}\n`;
  const uri = toCheckpointUri(to);
  if (!isUri(uri)) {
    try {
      return await writeWholeFile(uri, text);
    } catch (error) {
      throw new InfrastructureError(
        'watch.best',
        `--best ${to} could not be written: ${getMessage(error)}; free space there or name another file`,
        {
          cause: error,
        },
      );
    }
  }
  const { gcs, s3 } = createBucketStores(config.sources);
  await (uri.startsWith('gs:') ? gcs : s3).put(parseObjectLocation(uri), text, signal);
}
