import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { createPullCommand } from '../../../../src/adapters/sandbox/remote/pull-order.ts';
import type { FetchOrder, FetchWay } from '../../../../src/kernel/fetching.ts';
import { parseSandboxId } from '../../../../src/kernel/ids.ts';
import type { CheckpointFile } from '../../../../src/policy-distribution/checkpoint.ts';
import { PodPart, type PodTemplate, type PodTransport } from '../../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import type { Sandbox, SandboxProvider } from '../../../../src/pool/ports/sandbox.ts';
import { NEVER } from '../../../contract/sandbox-fixture.ts';
import { TEMPLATE } from '../../../support/evaluation-fixture.ts';
import { KubernetesContext } from '../../../support/kubernetes/kubernetes-context.ts';
import { CACHE_NAMESPACE } from '../../../support/kubernetes/simulated-node-caches.ts';
import type { SimulatedImage } from '../../../support/kubernetes/simulated-node.ts';
import { OriginFixture } from '../../delivery/origin-fixture.ts';

/** Bytes of a checkpoint. */
export const BYTES = 300_000;

/** An image with the program that fetches, and how Muster speaks to its pods. */
export interface FetchingImage {
  readonly image: SimulatedImage;
  readonly python: string;
  readonly transport?: PodTransport;
}

/** A cluster whose pods say what the files are that they are given. */
export class FetchingFixture implements AsyncDisposable {
  readonly context: KubernetesContext;
  readonly origins: OriginFixture;
  readonly #python: string;
  readonly #providers: SandboxProvider[] = [];
  #made = 0;

  private constructor(context: KubernetesContext, origins: OriginFixture, python: string) {
    this.context = context;
    this.origins = origins;
    this.#python = python;
  }

  static async open({ image, python, transport }: FetchingImage, nodes: readonly string[] = ['a', 'b']): Promise<FetchingFixture> {
    const context = await KubernetesContext.open(image, { nodes }, undefined, transport);
    context.allowOrigin();
    return new FetchingFixture(context, await OriginFixture.open({ transfers: 64 }), python);
  }

  provider(): SandboxProvider {
    const provider = this.context.provider();
    this.#providers.push(provider);
    return provider;
  }

  pod(provider: SandboxProvider, ...ways: readonly FetchWay[]): Promise<Sandbox> {
    const caches = ways.includes('shared-cache') ? { nodeCache: { namespace: CACHE_NAMESPACE, claim: CACHE_NAMESPACE } } : {};
    const pod: PodTemplate = {
      ...this.context.pod,
      network: 'origin',
      fetching: { ways, command: createPullCommand(this.#python), ...caches },
    };
    const command = ['sh', '-c', 'while read path; do sha256sum "$path" || echo gone; done'];
    const limits = { ...TEMPLATE.limits, memoryBytes: 2 ** 28 };
    return provider.create(
      { id: parseSandboxId(`s${(this.#made += 1)}`), template: { ...TEMPLATE, limits, command, providerPart: new PodPart(pod) } },
      NEVER,
    );
  }

  async checkpoint(
    path = 'policy.safetensors',
    content: number | Uint8Array = BYTES,
  ): Promise<{ readonly file: CheckpointFile; readonly order: FetchOrder }> {
    const file = await this.origins.put(path, typeof content === 'number' ? randomBytes(content) : content);
    return { file, order: { digest: file.digest, files: [{ ...file, url: await this.origins.origin.link(file) }] } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const provider of this.#providers) await provider[Symbol.asyncDispose]();
    expect(await this.context.traces()).toEqual([]);
    await this.context[Symbol.asyncDispose]();
    await this.origins[Symbol.asyncDispose]();
  }
}

/** What the sandbox's program finds there. */
export async function digestInside({ stdin, stdout }: Sandbox, path: string): Promise<string> {
  stdin.write(`${path}\n`);
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) return `sha256:${String(chunk).slice(0, 64)}`;
  throw new Error('it says nothing');
}

export async function fetched({ capabilities }: Sandbox, way: FetchWay, order: FetchOrder, signal = NEVER): Promise<string> {
  if (!capabilities?.fetching) throw new Error('the sandbox fetches nothing');
  return await capabilities.fetching.fetch(way, order, signal);
}
