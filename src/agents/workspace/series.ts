import { type Answer, CollectionAnswer, CommandAnswer } from './answers.ts';
import {
  type Collected,
  type Command,
  type CommandResult,
  toCommandFields,
  type FileRefusal,
  GRACE_MS,
  MOST_WAITING_MS,
  type WorkspaceFile,
} from './command.ts';
import { type AnswerFrame, DATA_BYTES } from './workspace-frames.ts';
import type { WorkspaceSession } from './workspace-session.ts';

/** One command on several inputs, in order, in a workspace that is made again before each. */
export interface Series {
  /** The command without an input. */
  readonly command: Command;
  /** Directories that are emptied before each run. */
  readonly wiped: readonly string[];
  /** Files that each run finds. */
  readonly files: readonly WorkspaceFile[];
  readonly runs: readonly SeriesRun[];
  /** A file that is read after each run that has ended with status 0. */
  readonly taken: { readonly path: string; readonly bytes: number } | undefined;
  /** Whether the command is the task's own: its runs may follow each other without checking what each leaves, except for files in its directory. */
  readonly trusted: boolean;
  /** Seconds for all runs together. */
  readonly within: number;
}

export interface SeriesRun {
  /** These arguments follow the words of the command. */
  readonly arguments: readonly string[];
  readonly input: Uint8Array;
  /** Its own. */
  readonly files: readonly WorkspaceFile[];
}

export interface SeriesResult {
  readonly result: CommandResult;
  /** It is undefined where there was nothing to read, or the run has failed. */
  readonly taken: Collected | undefined;
}

export interface SeriesResults {
  /** The runs that were carried out, in order. */
  readonly runs: readonly SeriesResult[];
  /** Why one of the files that each run finds could not be placed. Then nothing was run. */
  readonly unlaid: FileRefusal | undefined;
}

/** The program holds a series in memory: longer ones are sent and run piece by piece. */
const MOST_RUNS = 16;
const MOST_BYTES = 2 ** 20;
const MOST_FILES = 256;
const FRAME_BYTES = DATA_BYTES / 2;

/** Divides runs into series that the program accepts; undefined when these files or one of the runs are too large for any. */
export function cutIntoSeries<Run extends SeriesRun>(
  files: readonly WorkspaceFile[],
  runs: readonly Run[],
): readonly (readonly Run[])[] | undefined {
  const common = measureFiles(files);
  const series: Run[][] = [];
  let [bytes, words] = [0, 0];
  for (const run of runs) {
    const own = measureFiles(run.files) + run.input.length;
    const ownWords = [...run.arguments, ...run.files.map(({ path }) => path)].reduce((sum, word) => sum + 2 * Buffer.byteLength(word), 100);
    if (common + own > MOST_BYTES || ownWords > FRAME_BYTES || files.length + run.files.length > MOST_FILES) return undefined;
    const last = series.at(-1);
    if (last && last.length < MOST_RUNS && common + bytes + own <= MOST_BYTES && words + ownWords <= FRAME_BYTES) {
      last.push(run);
      [bytes, words] = [bytes + own, words + ownWords];
    } else {
      series.push([run]);
      [bytes, words] = [own, ownWords];
    }
  }
  return series;
}

/**
 * Carries out a series. When the sandbox's memory limit ended it, that is the result of the last run.
 *
 * @param series of `cutIntoSeries`. @throws InfrastructureError when the sandbox is lost, or cannot be made again; the signal's reason.
 */
export async function runSeries(session: WorkspaceSession, series: Series, signal: AbortSignal): Promise<SeriesResults> {
  const { command, wiped, files, runs, taken, trusted, within } = series;
  const answer = new SeriesAnswer();
  const asked = {
    type: 'series',
    ...toCommandFields(command, session.environment),
    wiped,
    ...layFields(files),
    runs: runs.map((run) => ({ arguments: run.arguments, input: run.input.length, ...layFields(run.files) })),
    taken: taken?.path ?? '',
    takenBytes: taken?.bytes ?? 0,
    trusted,
    within,
  };
  const input = Buffer.concat([...contents(files), ...runs.flatMap((run) => [run.input, ...contents(run.files)])]);
  const milliseconds = runs.length * (command.seconds * 1000 + MOST_WAITING_MS) + GRACE_MS;
  try {
    return await session.request(answer, asked, signal, input, milliseconds);
  } catch (error) {
    if (session.exit?.kind === 'out-of-memory') return answer.outOfMemory();
    throw error;
  }
}

const measureFiles = (files: readonly WorkspaceFile[]): number => files.reduce((sum, { content }) => sum + content.length, 0);
const contents = (files: readonly WorkspaceFile[]): readonly Uint8Array[] => files.map(({ content }) => content);

function layFields(files: readonly WorkspaceFile[]): object {
  return {
    paths: files.map(({ path }) => path),
    modes: files.map(({ executable }) => (executable ? 0o755 : 0o644)),
    sizes: files.map(({ content }) => content.length),
  };
}

class SeriesAnswer implements Answer<SeriesResults> {
  readonly #runs: SeriesResult[] = [];
  #unlaid: FileRefusal | undefined;
  #command = new CommandAnswer();
  #collection: CollectionAnswer | undefined;
  #untaken: FileRefusal | undefined;

  take(frame: AnswerFrame): SeriesResults | undefined {
    switch (frame.type) {
      case 'entry':
      case 'data':
        (this.#collection ??= new CollectionAnswer()).take(frame);
        return undefined;
      case 'untaken':
        this.#untaken = { kind: frame.kind, path: frame.path, detail: frame.detail };
        return undefined;
      case 'unlaid':
        this.#unlaid = { kind: frame.kind, path: frame.path, detail: frame.detail };
        return undefined;
      case 'done':
        return { runs: this.#runs, unlaid: this.#unlaid };
      default:
        this.#end(this.#command.take(frame));
        return undefined;
    }
  }

  outOfMemory(): SeriesResults {
    this.#end(this.#command.outOfMemory());
    return { runs: this.#runs, unlaid: undefined };
  }

  #end(result: CommandResult | undefined): void {
    if (result === undefined) return;
    const taken: Collected | undefined = this.#untaken
      ? { kind: 'refused', refusal: this.#untaken }
      : this.#collection?.take({ type: 'done', request: 0 });
    this.#runs.push({ result, taken });
    this.#command = new CommandAnswer();
    this.#collection = this.#untaken = undefined;
  }
}
