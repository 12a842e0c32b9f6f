import { createHash, randomUUID } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import type { Clock } from '../../kernel/clock.ts';
import { hasErrno } from '../../kernel/errno.ts';

/**
 * Names of unfinished files, from which every Muster can tell whether the writer still lives: `<place>.<pid>.<start>.<random>`. `place`
 * identifies one boot of one machine and one pid namespace, in which a pid is unique; `start` is the writer's start time, which tells it
 * from a process that reuses the pid.
 */
export class IncomingNames {
  readonly #prefix: string;
  readonly #place: string;
  readonly #clock: Clock;

  private constructor(place: string, start: string, clock: Clock) {
    this.#place = place;
    this.#prefix = `${place}.${process.pid}.${start}`;
    this.#clock = clock;
  }

  static async create(clock: Clock): Promise<IncomingNames> {
    const [boot, namespace] = await Promise.all([readFile('/proc/sys/kernel/random/boot_id', 'utf8'), readlink('/proc/self/ns/pid')]);
    const place = createHash('sha256').update(`${boot} ${namespace}`).digest('hex').slice(0, 16);
    return new IncomingNames(place, (await readStartTime(process.pid)) ?? '0', clock);
  }

  next(): string {
    return `${this.#prefix}.${randomUUID()}`;
  }

  /** Whether the name is of this process. */
  isOwn(name: string): boolean {
    return name.startsWith(`${this.#prefix}.`);
  }

  /**
   * @param writtenMs when the file was last written, in milliseconds since 1970. @param elsewhereKeptMs a writer that cannot be checked
   * from here (another container, another machine) counts as gone after this long without a write.
   */
  async isAbandoned(name: string, writtenMs: number, elsewhereKeptMs: number = ELSEWHERE_KEPT_MS): Promise<boolean> {
    const { place, pid, start } = WRITER.exec(name)?.groups ?? {};
    if (place !== this.#place) return this.#clock.date().getTime() - writtenMs > elsewhereKeptMs;
    return (await readStartTime(Number(pid))) !== start;
  }
}

const WRITER = /^(?<place>[0-9a-f]{16})\.(?<pid>\d+)\.(?<start>\d+)\./;

const ELSEWHERE_KEPT_MS = 24 * 60 * 60 * 1000;

/** Reads the start time in clock ticks since boot, field 22 of /proc/<pid>/stat; undefined when there is no such process, or it is a zombie. */
async function readStartTime(pid: number): Promise<string | undefined> {
  let line: string;
  try {
    line = await readFile(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    if (hasErrno(error, 'ENOENT', 'ESRCH')) return undefined;
    throw error;
  }
  // The program's name is in brackets and may hold anything; the fields after it are numbers.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}
