import { z } from 'zod';
import { sleep, type Clock } from '../../../../kernel/clock.ts';
import { Deadline } from '../../../../kernel/deadline.ts';
import { InfrastructureError, InputError } from '../../../../kernel/errors.ts';
import type { OwnerId } from '../../../../kernel/ids.ts';
import type { PodTemplate } from '../settings/pod-template.ts';
import type { SandboxTemplate } from '../../../../pool/ports/template.ts';
import { getLabels, type AgentSandbox, type Manifest, type Plural } from './agent-sandbox.ts';
import { nameOwnPool, createSandboxTemplateManifest, createWarmPoolManifest } from './claim-manifest.ts';

/** Label by which the controller recognises the pods of one SandboxTemplate; it writes it to the SandboxTemplate, too. */
export const TEMPLATE_HASH = 'agents.x-k8s.io/sandbox-template-ref-hash';

const LOOK_MS = 200;
/** The controller reads a new SandboxTemplate at once. */
const CONTROLLER_MS = 30_000;
/** The longest time in which a pool's pods have to go, after those that were claimed. */
const GONE_MS = 60_000;

const poolSchema = z.object({ spec: z.object({ sandboxTemplateRef: z.object({ name: z.string() }) }) });

/** The pool from which claims of one template get their pods. */
export interface WarmPool {
  readonly name: string;
  /** Selects the pods of its SandboxTemplate, claimed or not. */
  readonly podSelector: string;
  /** How far the API server's clock is ahead of this one. */
  readonly aheadMs: number;
}

/** @throws InputError `kubernetes.no-warm-pool`, `kubernetes.no-sandbox-template`; InfrastructureError `kubernetes.no-controller`. */
export async function findWarmPool(api: AgentSandbox, name: string, clock: Clock, signal: AbortSignal): Promise<WarmPool> {
  let aheadMs = 0;
  const pool = await api.get('sandboxwarmpools', name, signal, (time) => {
    if (Number.isFinite(time)) aheadMs = time - clock.date().getTime();
  });
  if (pool === undefined) throw createMissingWarmPoolError(name);
  const template = poolSchema.parse(pool).spec.sandboxTemplateRef.name;
  return { name, podSelector: `${TEMPLATE_HASH}=${await readHash(api, template, clock, signal)}`, aheadMs };
}

async function readHash(api: AgentSandbox, name: string, clock: Clock, signal: AbortSignal): Promise<string> {
  const createTimeoutError = (): Error =>
    new InfrastructureError(
      'kubernetes.no-controller',
      `agent-sandbox's controller has not handled the SandboxTemplate "${name}" within ${CONTROLLER_MS / 1000} s; does it run, with --extensions?`,
    );
  using deadline = new Deadline(clock, CONTROLLER_MS, createTimeoutError, signal);
  for (;;) {
    const template = await api.get('sandboxtemplates', name, deadline.signal);
    if (template === undefined) throw createMissingSandboxTemplateError(name);
    const hash = getLabels(template)[TEMPLATE_HASH];
    if (hash !== undefined) return hash;
    await sleep(clock, LOOK_MS, deadline.signal);
  }
}

/** Reads the SandboxTemplate of an operator's pool, as it is in the API. @throws InputError as `findWarmPool` does. */
export async function readSandboxTemplate(
  api: AgentSandbox,
  warmPool: string,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly template: unknown }> {
  const pool = await api.get('sandboxwarmpools', warmPool, signal);
  if (pool === undefined) throw createMissingWarmPoolError(warmPool);
  const { name } = poolSchema.parse(pool).spec.sandboxTemplateRef;
  const template = await api.get('sandboxtemplates', name, signal);
  if (template === undefined) throw createMissingSandboxTemplateError(name);
  return { name, template };
}

/** A SandboxTemplate and a SandboxWarmPool of Muster's own, for as long as its provider is open. */
export class OwnWarmPool {
  readonly name: string;
  readonly #manifests: readonly (readonly [Plural, Manifest])[];
  readonly #api: AgentSandbox;
  readonly #clock: Clock;
  #isMade = false;

  constructor(api: AgentSandbox, clock: Clock, owner: OwnerId, template: SandboxTemplate, pod: PodTemplate, replicas: number) {
    this.#api = api;
    this.#clock = clock;
    this.name = nameOwnPool(owner, template, pod);
    this.#manifests = [
      ['sandboxtemplates', createSandboxTemplateManifest(this.name, owner, template, pod)],
      ['sandboxwarmpools', createWarmPoolManifest(this.name, replicas, owner, template, pod)],
    ];
  }

  /** Whether there may be something of it. */
  get isMade(): boolean {
    return this.#isMade;
  }

  /** Safe to repeat. */
  async make(signal: AbortSignal): Promise<void> {
    this.#isMade = true;
    for (const [plural, manifest] of this.#manifests) {
      if ((await this.#api.get(plural, this.name, signal)) === undefined) await this.#api.create(plural, manifest, signal);
    }
  }

  /** Resolves when its pods are gone, too. @throws InfrastructureError `sandbox.not-gone` when they are not in time. */
  async remove(): Promise<void> {
    if (!this.#isMade) return;
    const createTimeoutError = (): Error => new InfrastructureError('sandbox.not-gone', `the warm pool ${this.name} was not gone in time`);
    using deadline = new Deadline(this.#clock, GONE_MS, createTimeoutError);
    for (const [plural] of this.#manifests.toReversed()) {
      await this.#api.delete(plural, this.name, deadline.signal);
      while ((await this.#api.get(plural, this.name, deadline.signal)) !== undefined) await sleep(this.#clock, LOOK_MS, deadline.signal);
    }
    this.#isMade = false;
  }
}

function createMissingWarmPoolError(name: string): InputError {
  const remedy = 'make it, or set kubernetes.claims to { replicas: N } and Muster makes one for itself';
  return new InputError(
    'kubernetes.no-warm-pool',
    `the namespace has no SandboxWarmPool "${name}" (kubernetes.claims.warmPool): ${remedy}`,
  );
}

function createMissingSandboxTemplateError(name: string): InputError {
  return new InputError(
    'kubernetes.no-sandbox-template',
    `the namespace has no SandboxTemplate "${name}", which the warm pool names: make it`,
  );
}
