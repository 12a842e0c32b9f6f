import type { PreparedCandidate } from '../../../agents/preparation/preparation-report.ts';
import type { PreparationStep } from '../../../agents/preparation/source/steps.ts';
import type { PrepareListeners } from '../../../app/preparation/prepare-terms.ts';
import { escapeUnprintableLine } from '../../../kernel/text/printable.ts';
import { createLiveDisplay, type DisplayStream, type ProgressDisplay } from '../../progress/progress-display.ts';

type Running = ReadonlyMap<string, PreparationStep>;

const VIEW = {
  lines: (running: Running): readonly string[] =>
    Array.from(running, ([candidate, step]) => `… ${escapeUnprintableLine(candidate)}: ${step}`),
};

/** Lines on stderr: the number of candidates, and each candidate that is done. On a terminal also the steps that candidates are in. */
export class PreparationProgress implements PrepareListeners, Disposable {
  readonly #stream: DisplayStream;
  readonly #isQuiet: boolean;
  readonly #running = new Map<string, PreparationStep>();
  readonly #display: ProgressDisplay<Running> | undefined;
  #total = 0;
  #done = 0;

  /** @param isQuiet without a terminal. */
  constructor(stream: DisplayStream, isQuiet: boolean) {
    this.#stream = stream;
    this.#isQuiet = isQuiet && !stream.isTTY;
    this.#display = stream.isTTY ? createLiveDisplay(VIEW, stream) : undefined;
  }

  readonly onStart = (candidates: number): void => {
    this.#total = candidates;
    this.#print(`${candidates} ${candidates === 1 ? 'candidate' : 'candidates'}; a line follows when one is done, which takes minutes`);
  };

  readonly onStep = (candidate: string, step: PreparationStep): void => {
    this.#running.set(candidate, step);
    this.#display?.show(this.#running);
  };

  readonly onCandidate = ({ id, title, refusal, void: reason, task }: PreparedCandidate): void => {
    this.#done += 1;
    this.#running.delete(id);
    const refused = refusal === null ? `is void: ${reason ?? ''}` : `refused by ${refusal.step}: ${refusal.reason}`;
    const end = task === null ? refused : 'is a task';
    this.#print(`[${this.#done}/${this.#total}] ${escapeUnprintableLine(`${id} ${title}: ${end}`).slice(0, 300)}`);
  };

  [Symbol.dispose](): void {
    this.#display?.[Symbol.dispose]();
  }

  #print(line: string): void {
    if (this.#isQuiet) return;
    this.#display?.[Symbol.dispose]();
    this.#stream.write(`${line}\n`);
    this.#display?.show(this.#running);
  }
}
