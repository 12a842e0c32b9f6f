import { PassThrough, type Readable, type Writable } from 'node:stream';
import { type Clock, sleep } from '../../../kernel/clock.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { SandboxUsage } from '../../../kernel/sandbox-usage.ts';
import type { PastExposure } from '../../../pool/ports/exposure.ts';
import type { Sandbox, SandboxCapabilities, SandboxExit } from '../../../pool/ports/sandbox.ts';
import type { UploadContent } from '../../../pool/ports/upload-target.ts';
import type { Isolation } from '../../../pool/ports/template.ts';
import type { LocalSandbox } from './local-sandbox.ts';

/** The exit code of the environment's program when its connection to the policy's is gone (runner/muster_runner/exit_codes.py). */
const EXIT_POLICY_LINE = 71;

/**
 * How long the end of the second program is awaited. Mostly it follows by itself, and its exit shows which of them was first; but an environment in
 * the middle of a long step does not notice that its policy is gone.
 */
const FOLLOWS_MS = 500;

/**
 * Two sandboxes of this machine as one: the environment's program communicates with Muster, the policy's only with the environment's.
 *
 * Both end together. What the policy's program writes to its streams is part of the error output.
 */
export class PairedSandbox implements Sandbox {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly shares: ReadonlySet<string>;
  readonly past: PastExposure;
  readonly capabilities: SandboxCapabilities;
  readonly exit: Promise<SandboxExit>;
  readonly #environment: LocalSandbox;
  readonly #policy: LocalSandbox;
  readonly #clock: Clock;
  readonly #destroyed = new AbortController();

  constructor(environment: LocalSandbox, policy: LocalSandbox, clock: Clock) {
    this.#environment = environment;
    this.#policy = policy;
    this.#clock = clock;
    this.stdin = environment.stdin;
    this.stdout = environment.stdout;
    this.stderr = mergeStreams([environment.stderr, policy.stdout, policy.stderr]);
    this.shares = policy.shares;
    this.past = policy.past;
    const { remove } = environment.capabilities;
    this.capabilities = { remove, policy, usage: () => this.#measureUsage() };
    policy.stdin.end();
    this.exit = this.#watch();
  }

  get id(): SandboxId {
    return this.#environment.id;
  }

  get isolation(): Isolation {
    return this.#environment.isolation;
  }

  upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    return this.#environment.upload(path, content, signal);
  }

  async #measureUsage(): Promise<SandboxUsage> {
    const [one, other] = await Promise.all([this.#environment.capabilities.usage(), this.#policy.capabilities.usage()]);
    const sum = (field: keyof SandboxUsage): SandboxUsage =>
      one[field] === undefined || other[field] === undefined ? {} : { [field]: one[field] + other[field] };
    return { ...sum('cpuSeconds'), ...sum('peakMemoryBytes'), ...sum('processes') };
  }

  async destroy(): Promise<void> {
    this.#destroyed.abort();
    await Promise.all([this.#environment.destroy(), this.#policy.destroy()]);
  }

  async #watch(): Promise<SandboxExit> {
    const environment = this.#environment.exit;
    const policy = this.#policy.exit;
    await Promise.race([environment, policy]);
    await this.#waitForBoth(Promise.all([environment, policy]));
    // The other program may still run. Its exit would only say that it was destroyed.
    await Promise.all([this.#environment.destroy(), this.#policy.destroy()].map((end) => end.catch(() => undefined)));
    return decideVerdict(await environment, await policy);
  }

  async #waitForBoth(both: Promise<unknown>): Promise<void> {
    const late = new AbortController();
    const either = AbortSignal.any([late.signal, this.#destroyed.signal]);
    await Promise.race([both, sleep(this.#clock, FOLLOWS_MS, either).catch(() => undefined)]);
    late.abort();
  }
}

/** Decides which of the two ends caused the other. */
function decideVerdict(environment: SandboxExit, policy: SandboxExit): SandboxExit {
  const isPolicyGone = environment.kind === 'exited' && environment.code === EXIT_POLICY_LINE;
  // It did not end by itself: it may not have noticed yet.
  const wasDestroyed = environment.kind === 'destroyed';
  if (!isPolicyGone && !wasDestroyed) return environment;
  switch (policy.kind) {
    case 'exited':
      return { ...policy, part: 'policy' };
    case 'destroyed':
      // It kept running behind a connection that it had closed or misused.
      return isPolicyGone ? { kind: 'exited', code: EXIT_POLICY_LINE, part: 'policy' } : policy;
    case 'out-of-memory':
    case 'lifetime':
    case 'lost':
      return policy;
  }
}

/** Merges the streams into one, in order of arrival. */
function mergeStreams(sources: readonly Readable[]): Readable {
  const all = new PassThrough();
  let left = sources.length;
  for (const source of sources) {
    source.pipe(all, { end: false });
    source.once('close', () => {
      left -= 1;
      if (left === 0) all.end();
    });
  }
  return all;
}
