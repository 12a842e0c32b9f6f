import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../src/app/configuration.ts';
import { Muster } from '../src/app/main.ts';

/** The whole of Muster with the default configuration, but for some settings, and a state directory of its own. */
export class OwnMuster implements AsyncDisposable {
  readonly muster: Muster;
  /** Whatever is put there goes with it. */
  readonly directory: string;

  private constructor(muster: Muster, directory: string) {
    this.muster = muster;
    this.directory = directory;
  }

  /** @param settings by their path in the configuration, with dots. */
  static async open(settings: Readonly<Record<string, string | number | readonly string[]>>): Promise<OwnMuster> {
    const directory = await mkdtemp(join(tmpdir(), 'muster-bench-'));
    const all = { stateDir: join(directory, 'state'), ...settings };
    const flags = Object.entries(all).map(([path, value]) => ({ name: path, path: path.split('.'), value }));
    return new OwnMuster(await Muster.open(loadConfig({ environment: { HOME: directory }, flags })), directory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.muster[Symbol.asyncDispose]();
    await rm(this.directory, { recursive: true, force: true });
  }
}
