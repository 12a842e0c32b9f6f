import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Cluster } from '../../src/adapters/sandbox/kubernetes/cluster/cluster.ts';
import { ExecChannel } from '../../src/adapters/sandbox/kubernetes/exec/exec-channel.ts';
import { openExecSocket } from '../../src/adapters/sandbox/kubernetes/exec/exec-socket.ts';
import { Heartbeats } from '../../src/adapters/sandbox/kubernetes/exec/heartbeats.ts';
import { createKubernetesProvider } from '../../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import { namePod } from '../../src/adapters/sandbox/kubernetes/cluster/pod-labels.ts';
import { PROGRAM_CONTAINER } from '../../src/adapters/sandbox/kubernetes/pods/container-names.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { type OwnerId, parseOwnerId, type SandboxId } from '../../src/kernel/ids.ts';
import { PodPart, type PodTemplate } from '../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import type { SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../../src/pool/ports/template.ts';
import type { SandboxContext } from '../contract/sandbox-provider.ts';
import { NEVER } from '../contract/sandbox-fixture.ts';
import { crashedOwner } from '../support/kubernetes/crashed-owner.ts';
import { SkippableClock } from '../support/skippable-clock.ts';
import { claimsOf, clusterPod, podsOf } from './cluster-under-test.ts';

/** Processes whose program is a shell that carries the marker, which comes on the input so that this one does not. */
const FIND_MARKED = `read -r marker; for each in /proc/[0-9]*/cmdline; do
  tr '\\0' '\\n' 2>/dev/null <"$each" | { read -r program && test "$program" = sh && grep -qxF -- "$marker" && echo "$each"; }
done; exit 0`;

let grounds = 0;

/** A part of a real cluster for one test: all of its owners' names begin alike. */
export class ClusterContext implements SandboxContext {
  readonly clock = new SkippableClock();
  readonly hiddenPaths: readonly string[] = [];
  readonly #pod: PodTemplate;
  readonly #cluster: Cluster;
  readonly #heartbeats = new Heartbeats(systemClock);
  readonly #prefix = `contract-${process.pid}-${(grounds += 1)}-`;
  #owners = 0;

  constructor(changes: Pick<Partial<PodTemplate>, 'claims' | 'transport'> = {}) {
    this.#pod = clusterPod(changes);
    this.#cluster = new Cluster(this.#pod, systemClock);
  }

  get additions(): Partial<SandboxTemplate> {
    return { providerPart: new PodPart(this.#pod) };
  }

  provider(): SandboxProvider {
    return createKubernetesProvider({ owner: this.#newOwner(), clock: this.clock, places: [this.#pod] });
  }

  async traces(): Promise<readonly string[]> {
    return this.#pod.claims === undefined ? podsOf(this.#prefix) : (await claimsOf(this.#prefix)).map(({ name }) => name);
  }

  async markedProcesses(marker: string): Promise<readonly string[]> {
    const pods =
      this.#pod.claims === undefined ? await podsOf(this.#prefix) : (await claimsOf(this.#prefix)).flatMap(({ pod }) => pod ?? []);
    const found = await Promise.all(pods.map((pod) => this.#markedIn(pod, marker)));
    return found.flat();
  }

  async killFromOutside({ owner }: SandboxProvider, id: SandboxId): Promise<void> {
    const name = namePod(owner, id);
    const claimed = this.#pod.claims && (await claimsOf(name)).find((claim) => claim.name === name)?.pod;
    await this.#cluster.deletePod(claimed ?? name, 0, NEVER);
  }

  crashedOwner(commands: readonly (readonly string[])[]): Promise<readonly SandboxId[]> {
    return crashedOwner(this.#newOwner(), commands, this.#pod);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#heartbeats[Symbol.dispose]();
    this.#cluster[Symbol.dispose]();
  }

  #newOwner(): OwnerId {
    return parseOwnerId(`${this.#prefix}${(this.#owners += 1)}`);
  }

  /** A pod that is ending has none that matter. */
  async #markedIn(pod: string, marker: string): Promise<readonly string[]> {
    const { namespace, config } = this.#cluster;
    const command = { namespace, pod, container: PROGRAM_CONTAINER, command: ['/bin/sh', '-c', FIND_MARKED] };
    const socket = await openExecSocket(config, command, NEVER).catch(() => undefined);
    if (socket === undefined) return [];
    const channel = new ExecChannel(socket, systemClock, this.#heartbeats);
    channel.stderr.resume();
    channel.stdin.end(`${marker}\n`);
    const said = await text(channel.stdout);
    await channel.ended;
    if (socket.readyState !== socket.CLOSED) await once(socket, 'close');
    return said.split('\n').flatMap((line) => (line === '' ? [] : [`${pod}:${line}`]));
  }
}
