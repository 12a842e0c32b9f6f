import { MistakenCopy, type Mistake, type RunResult } from '../../support/mistaken-copy.ts';

const COMMAND = 'bench/coverage/run.ts';
/** A third of a second quicker than the command. */
const CHECK = 'test/aggregation/coverage/check-rows.ts';
/** All that the study is made of. */
const COPIED = [
  'src/aggregation',
  'src/kernel',
  'src/cli/terminal',
  'src/faces/client/client-errors.ts',
  'bench/coverage',
  'bench/benchmark.ts',
  'bench/table-text.ts',
  CHECK,
];

/** A mistake that a developer could make, in a file below src/aggregation. */
export interface Mutant extends Mistake {
  readonly name: string;
}

/** A copy of the study, outside of the project, in which mistakes can be made. */
export class StudyCopy implements AsyncDisposable {
  readonly #copy: MistakenCopy;

  private constructor(copy: MistakenCopy) {
    this.#copy = copy;
  }

  static async create(): Promise<StudyCopy> {
    return new StudyCopy(await MistakenCopy.create(COPIED));
  }

  /** Checks a row of the short study in a process of its own, on the code as it is. */
  check(row: string): Promise<RunResult> {
    return this.#copy.run(CHECK, row);
  }

  /** The same by the study's command. */
  command(row: string): Promise<RunResult> {
    return this.#copy.run(COMMAND, '--short', '--threads', '1', '--only', row);
  }

  /** Does something with a mistake in the code, which is right again afterwards. @throws as `MistakenCopy.mistaken`. */
  mistaken({ file, edits }: Mutant, run: () => Promise<RunResult>): Promise<RunResult> {
    return this.#copy.mistaken({ file: `src/aggregation/${file}`, edits }, run);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#copy[Symbol.asyncDispose]();
  }
}
