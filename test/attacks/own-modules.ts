import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { SandboxTemplate } from '../../src/pool/ports/template.ts';
import { FORKED_MOUNTS, ZYGOTE } from './attack-fixture.ts';

/** Runners with one more module, which their zygote is to import. */
export class OwnModules implements AsyncDisposable {
  readonly #directory: string;
  #count = 0;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async open(): Promise<OwnModules> {
    return new OwnModules(await mkdtemp(path.join(tmpdir(), 'muster-modules-')));
  }

  /** What a template is changed by so that its sandboxes are forked after this source was imported as `own`. */
  async importing(source: string): Promise<Pick<SandboxTemplate, 'mounts' | 'zygote'>> {
    const runner = path.join(this.#directory, String((this.#count += 1)));
    const mounts = FORKED_MOUNTS.map(({ target, ...rest }) => ({ ...rest, target, ...(target === '/runner' ? { source: runner } : {}) }));
    await cp(FORKED_MOUNTS.find(({ target }) => target === '/runner')?.source ?? '', runner, { recursive: true });
    await writeFile(path.join(runner, 'own.py'), source);
    return { mounts, zygote: { ...ZYGOTE, imports: ['own'] } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true });
  }
}
