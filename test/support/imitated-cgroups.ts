import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type CgroupFiles, kernelCgroupFiles } from '../../src/adapters/sandbox/local/cgroups/cgroup-files.ts';

/**
 * An imitation of a delegated version 2 hierarchy, in ordinary directories: new groups get the control files that the parent's
 * `cgroup.subtree_control` hands on, and a group that still has members cannot be removed. It limits nothing, and processes
 * that end do not leave it by themselves: it shows which files are written, not what the kernel makes of them.
 */
export class ImitatedCgroups implements CgroupFiles {
  readonly root: string;
  /** Every write, as `file: text`, with paths relative to the root. */
  readonly writes: string[] = [];
  readonly #delegated: readonly string[];
  readonly #occupied: ReadonlySet<string>;

  /**
   * @param delegated controllers that the root has.
   * @param occupied groups with processes of their own, which the kernel does not let hand controllers on.
   */
  constructor(root: string, delegated: readonly string[], occupied: readonly string[]) {
    this.root = root;
    this.#delegated = delegated;
    this.#occupied = new Set(occupied.map((group) => path.join(root, group)));
  }

  async makeDirectory(group: string): Promise<void> {
    await mkdir(group);
    const handedOn = (await this.read(path.join(path.dirname(group), 'cgroup.subtree_control'))) ?? '';
    const files = ['cgroup.procs', 'cgroup.subtree_control', 'cgroup.kill'];
    if (handedOn.includes('memory')) files.push('memory.max', 'memory.swap.max', 'memory.events');
    if (handedOn.includes('pids')) files.push('pids.max');
    if (handedOn.includes('cpu')) files.push('cpu.max');
    for (const file of files) await writeFile(path.join(group, file), file === 'memory.events' ? 'oom 0\noom_kill 0\n' : '');
  }

  async removeDirectory(group: string): Promise<void> {
    if ((await kernelCgroupFiles.listChildren(group)).length > 0) throw systemError('EBUSY');
    if ((await this.read(path.join(group, 'cgroup.procs'))) === undefined) throw systemError('ENOENT');
    await rm(group, { recursive: true });
  }

  listChildren(group: string): Promise<readonly string[]> {
    return kernelCgroupFiles.listChildren(group);
  }

  read(file: string): Promise<string | undefined> {
    return kernelCgroupFiles.read(file);
  }

  async write(file: string, text: string): Promise<boolean> {
    const group = path.dirname(file);
    if ((await this.read(file)) === undefined) return false;
    if (path.basename(file) === 'cgroup.subtree_control') return this.#handOn(file, group, text);
    this.writes.push(`${path.relative(this.root, file)}: ${text}`);
    return kernelCgroupFiles.write(file, text);
  }

  async #handOn(file: string, group: string, text: string): Promise<boolean> {
    if (this.#occupied.has(group)) throw systemError('EBUSY');
    const controller = text.slice(1);
    const above =
      group === this.root ? this.#delegated.join(' ') : ((await this.read(path.join(path.dirname(group), 'cgroup.subtree_control'))) ?? '');
    if (!above.includes(controller)) throw systemError('ENOENT');
    const handedOn = await readFile(file, 'utf8');
    if (!handedOn.includes(controller)) await writeFile(file, `${handedOn}${controller} `);
    return true;
  }
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
