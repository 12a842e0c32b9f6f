import path from 'node:path';
import type { SandboxUsage } from '../../../../kernel/sandbox-usage.ts';
import type { CgroupFiles } from './cgroup-files.ts';

/** A number that the kernel counts for a group. */
interface Figure {
  readonly file: string;
  readonly pattern: RegExp;
  /** The count that is one second, byte or process. */
  readonly perUnit: number;
}

/** The files of each figure, in order of preference: those of v2, then those of v1. Only newer kernels have pids.peak. */
const FIGURES: Readonly<Record<keyof SandboxUsage, readonly Figure[]>> = {
  cpuSeconds: [
    { file: 'cpu.stat', pattern: /^usage_usec (\d+)$/m, perUnit: 1e6 },
    { file: 'cpuacct.usage', pattern: /^(\d+)$/m, perUnit: 1e9 },
  ],
  peakMemoryBytes: [
    { file: 'memory.peak', pattern: /^(\d+)$/m, perUnit: 1 },
    { file: 'memory.max_usage_in_bytes', pattern: /^(\d+)$/m, perUnit: 1 },
  ],
  processes: [
    { file: 'pids.peak', pattern: /^(\d+)$/m, perUnit: 1 },
    { file: 'pids.current', pattern: /^(\d+)$/m, perUnit: 1 },
  ],
};

interface FigureSource {
  readonly figure: Figure;
  /** The position of its directory in those of a sandbox. */
  readonly hierarchy: number;
}

type Slots = Readonly<Partial<Record<keyof SandboxUsage, FigureSource>>>;

/** Reads what control groups have counted. The files that hold it are the same for all groups, and detected once. */
export class CgroupAccounts {
  readonly #files: CgroupFiles;
  readonly #owned: readonly string[];
  #places: Promise<Slots> | undefined;

  /** @param owned directories with the sandboxes' groups, one of each hierarchy; they exist as long as any of those. */
  constructor(files: CgroupFiles, owned: readonly string[]) {
    this.#files = files;
    this.#owned = owned;
  }

  /** @param directories of one sandbox, in the order of `owned`. Leaves out what is not counted. */
  async measureUsage(directories: readonly string[]): Promise<SandboxUsage> {
    this.#places ??= this.#find(this.#owned);
    const places = await this.#places;
    const [cpuSeconds, peakMemoryBytes, processes] = await Promise.all([
      this.#count(places.cpuSeconds, directories),
      this.#count(places.peakMemoryBytes, directories),
      this.#count(places.processes, directories),
    ]);
    return {
      ...(cpuSeconds === undefined ? {} : { cpuSeconds }),
      ...(peakMemoryBytes === undefined ? {} : { peakMemoryBytes }),
      ...(processes === undefined ? {} : { processes }),
    };
  }

  async #find(directories: readonly string[]): Promise<Slots> {
    const [cpuSeconds, peakMemoryBytes, processes] = await Promise.all([
      this.#findSource(FIGURES.cpuSeconds, directories),
      this.#findSource(FIGURES.peakMemoryBytes, directories),
      this.#findSource(FIGURES.processes, directories),
    ]);
    return { ...(cpuSeconds && { cpuSeconds }), ...(peakMemoryBytes && { peakMemoryBytes }), ...(processes && { processes }) };
  }

  async #findSource(figures: readonly Figure[], directories: readonly string[]): Promise<FigureSource | undefined> {
    for (const figure of figures) {
      for (const hierarchy of directories.keys()) {
        if ((await this.#count({ figure, hierarchy }, directories)) !== undefined) return { figure, hierarchy };
      }
    }
    return undefined;
  }

  async #count(place: FigureSource | undefined, directories: readonly string[]): Promise<number | undefined> {
    if (!place) return undefined;
    const directory = directories[place.hierarchy] ?? '';
    const { file, pattern, perUnit } = place.figure;
    const count = pattern.exec((await this.#files.read(path.join(directory, file))) ?? '')?.[1];
    return count === undefined ? undefined : Number(count) / perUnit;
  }
}
