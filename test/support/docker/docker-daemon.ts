import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { access, chmod, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { create } from 'tar';
import { dependent } from '../../../scripts/dependent-process.ts';
import { Daemon } from '../../../src/adapters/sandbox/docker/daemon.ts';
import { sendRequest, type DaemonRequest } from '../../../src/adapters/sandbox/docker/daemon-request.ts';
import { listProcesses } from '../process-table.ts';
import { eventually } from '../eventually.ts';

/** An image of empty directories and links: all that a program needs comes from this machine's /usr, mounted. */
export const EMPTY_IMAGE = 'muster-test:empty';

const PROGRAM = '/usr/sbin/dockerd';

/** Why no daemon of the tests' own can be started here; undefined where one can. */
export async function daemonUnavailable(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'a Docker daemon of the tests’ own takes root';
  try {
    await access(PROGRAM);
    return undefined;
  } catch {
    return `there is no ${PROGRAM} (Debian: docker.io)`;
  }
}

/** A real Docker daemon with nothing of the machine's own: its socket, images and containers are in a temporary directory. */
export class DockerDaemon implements AsyncDisposable {
  readonly directory: string;
  readonly socket: string;
  readonly client: Daemon;
  readonly #process: ChildProcess;

  private constructor(directory: string, process: ChildProcess) {
    this.directory = directory;
    this.socket = path.join(directory, 'docker.sock');
    this.client = new Daemon(this.socket);
    this.#process = process;
  }

  static async start(): Promise<DockerDaemon> {
    const directory = await mkdtemp(path.join(tmpdir(), 'muster-docker-'));
    const place = (name: string): string => path.join(directory, name);
    const own = [`--data-root=${place('data')}`, `--exec-root=${place('exec')}`, `--pidfile=${place('pid')}`];
    const network = ['--iptables=false', '--ip6tables=false', '--bridge=none'];
    const flags = [...own, ...network, `--host=unix://${place('docker.sock')}`];
    const daemon = new DockerDaemon(directory, spawn(...dependent(PROGRAM, flags, 'TERM'), { stdio: 'ignore' }));
    try {
      await eventually('the Docker daemon answers', () => daemon.#answers());
      await daemon.#importEmpty();
      return daemon;
    } catch (error) {
      await daemon[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.kill('SIGTERM');
      await once(this.#process, 'exit');
    }
    await eventually('no process of the daemon is left', async () => (await this.#processes()).length === 0);
    await rm(this.directory, { recursive: true, force: true });
  }

  /** A call that sandboxes do not take. */
  request(request: DaemonRequest): Promise<Readable> {
    return sendRequest(this.socket, request);
  }

  async #answers(): Promise<boolean> {
    if (this.#process.exitCode !== null) throw new Error(`dockerd ended with code ${this.#process.exitCode}`);
    return this.client.version().then(
      () => true,
      () => false,
    );
  }

  /** Its containerd, and what holds its containers. */
  async #processes(): Promise<readonly number[]> {
    const processes = listProcesses();
    return processes.filter(({ argv }) => argv.some((word) => word.includes(this.directory))).map(({ pid }) => pid);
  }

  async #importEmpty(): Promise<void> {
    const root = path.join(this.directory, 'empty');
    for (const name of ['usr', 'tmp', 'dev', 'proc', 'sys', 'etc', 'sbin', 'muster'])
      await mkdir(path.join(root, name), { recursive: true });
    // A tmpfs takes over the mode of the directory that it covers.
    await chmod(path.join(root, 'tmp'), 0o1777);
    for (const name of ['bin', 'lib', 'lib64']) await symlink(`usr/${name}`, path.join(root, name));
    const [repo = '', tag = ''] = EMPTY_IMAGE.split(':');
    const archive = path.join(this.directory, 'empty.tar');
    await create({ cwd: root, file: archive }, ['.']);
    const query = { fromSrc: '-', repo, tag };
    await text(await this.request({ method: 'POST', path: '/images/create', query, archive: createReadStream(archive) }));
    if (!(await this.client.hasImage(EMPTY_IMAGE))) throw new Error('the daemon did not import the empty image');
  }
}
