import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { createDockerProvider } from '../../../src/adapters/sandbox/docker/docker-provider.ts';
import { nameContainer } from '../../../src/adapters/sandbox/docker/container-options.ts';
import { formatOwnerLabel } from '../../../src/adapters/sandbox/docker/ownership.ts';
import { DockerPart } from '../../../src/adapters/sandbox/docker/settings.ts';
import { type OwnerId, parseOwnerId, parseSandboxId, type SandboxId } from '../../../src/kernel/ids.ts';
import type { SandboxProvider } from '../../../src/pool/ports/sandbox.ts';
import type { Mount, SandboxTemplate } from '../../../src/pool/ports/template.ts';
import type { SandboxContext } from '../../contract/sandbox-provider.ts';
import { SkippableClock } from '../skippable-clock.ts';
import { EMPTY_IMAGE, type DockerDaemon } from './docker-daemon.ts';

const CRASHING_OWNER = path.join(import.meta.dirname, 'crashing-owner.ts');

/** A state directory and owners that are unique to one test, on a daemon that several tests share. */
export class DockerContext implements SandboxContext {
  readonly clock = new SkippableClock();
  readonly stateDir: string;
  readonly additions: Partial<SandboxTemplate>;
  readonly hiddenPaths: readonly string[];
  readonly #daemon: DockerDaemon;
  readonly #owners: OwnerId[] = [];
  #child: ChildProcess | undefined;

  private constructor(daemon: DockerDaemon, stateDir: string, mounts: readonly Mount[]) {
    this.#daemon = daemon;
    this.stateDir = stateDir;
    this.additions = { providerPart: new DockerPart({ socket: daemon.socket, pull: 'never' }, EMPTY_IMAGE) };
    const places = [stateDir, daemon.directory, path.join(import.meta.dirname, '../../..'), homedir(), '/home', '/opt'];
    this.hiddenPaths = places.filter((place) => !mounts.some(({ target }) => target.startsWith(place)));
  }

  static async open(daemon: DockerDaemon, mounts: readonly Mount[]): Promise<DockerContext> {
    return new DockerContext(daemon, await mkdtemp(path.join(tmpdir(), 'muster-test-')), mounts);
  }

  provider(): SandboxProvider {
    return createDockerProvider({ stateDir: this.stateDir, owner: this.#newOwner(), clock: this.clock, sockets: [this.#daemon.socket] });
  }

  /** Containers and directories of sandboxes. */
  async traces(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const owner of this.#owners) {
      const containers = await this.#daemon.client.containers(formatOwnerLabel(owner));
      const directories = await readdir(path.join(this.stateDir, 'docker', 'sandboxes', owner), { withFileTypes: true }).catch(() => []);
      found.push(...containers.flatMap(({ Names }) => Names));
      found.push(
        ...directories.filter((entry) => entry.isDirectory() && !entry.name.startsWith('_')).map(({ name }) => `${owner}/${name}`),
      );
    }
    return found;
  }

  async killFromOutside({ owner }: SandboxProvider, id: SandboxId): Promise<void> {
    await this.#daemon.client.remove(nameContainer(owner, id));
  }

  async crashedOwner(commands: readonly (readonly string[])[]): Promise<readonly SandboxId[]> {
    const order = { stateDir: this.stateDir, owner: this.#newOwner(), socket: this.#daemon.socket, image: EMPTY_IMAGE, commands };
    const child = spawn(process.execPath, [CRASHING_OWNER, JSON.stringify(order)], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child = child;
    for await (const line of createInterface({ input: child.stdout })) {
      child.kill('SIGKILL');
      await once(child, 'exit');
      return line.split(' ').map(parseSandboxId);
    }
    throw new Error('the other Muster ended before its sandboxes ran');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child?.kill('SIGKILL');
    const left = await this.traces();
    await rm(this.stateDir, { recursive: true, force: true });
    if (left.length > 0) throw new Error(`sandboxes were left behind: ${left.join(', ')}`);
  }

  #newOwner(): OwnerId {
    const owner = parseOwnerId(`${path.basename(this.stateDir).toLowerCase()}-${this.#owners.length}`);
    this.#owners.push(owner);
    return owner;
  }
}
