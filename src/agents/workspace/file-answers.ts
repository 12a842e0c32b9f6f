import { InfrastructureError } from '../../kernel/errors.ts';
import type { FileRefusal } from './command.ts';
import type { Answer } from './answers.ts';
import type { AnswerFrame } from './workspace-frames.ts';

/** The requested content of files, or why it is not available. */
export type FileResult<Result> =
  { readonly kind: 'given'; readonly result: Result } | { readonly kind: 'refused'; readonly refusal: FileRefusal };

export interface ListedEntry {
  /** Relative to the directory that is listed. A byte that is no UTF-8 is a lone surrogate. */
  readonly path: string;
  readonly kind: 'file' | 'directory' | 'link' | 'special';
  /** 0 for what is no file. */
  readonly bytes: number;
}

export interface FoundLine {
  readonly path: string;
  /** The number of the line, from 1. */
  readonly line: number;
  /** The surroundings of the match, where the line is long. */
  readonly text: string;
}

export interface Counted<Item> {
  readonly items: readonly Item[];
  /** Including omitted ones. */
  readonly total: number;
  /** It is false when not everything was searched, or not all of it is in the answer. */
  readonly isComplete: boolean;
}

/** Assembles an answer on files, which may be a refusal. */
export abstract class FileAnswer<Result> implements Answer<FileResult<Result>> {
  protected abstract takePart(frame: AnswerFrame): Result | undefined | 'unexpected';

  take(frame: AnswerFrame): FileResult<Result> | undefined {
    if (frame.type === 'refused') {
      const { kind, path, detail } = frame;
      if (kind === 'processes') throw new InfrastructureError('workspace.failed', `a workspace could not end its processes: ${detail}`);
      return { kind: 'refused', refusal: { kind, path, detail } };
    }
    const result = this.takePart(frame);
    if (result === 'unexpected')
      throw new InfrastructureError('workspace.protocol', `the program in the workspace answered with "${frame.type}"`);
    return result === undefined ? undefined : { kind: 'given', result };
  }
}

export class ReadAnswer extends FileAnswer<Buffer> {
  readonly #parts: Buffer[] = [];

  protected override takePart(frame: AnswerFrame): Buffer | undefined | 'unexpected' {
    if (frame.type === 'file') return Buffer.concat(this.#parts);
    if (frame.type !== 'data') return 'unexpected';
    this.#parts.push(frame.data);
    return undefined;
  }
}

export class ListAnswer extends FileAnswer<Counted<ListedEntry>> {
  readonly #items: ListedEntry[] = [];

  protected override takePart(frame: AnswerFrame): Counted<ListedEntry> | undefined | 'unexpected' {
    if (frame.type === 'counted') return { items: this.#items, total: frame.total, isComplete: frame.complete };
    if (frame.type !== 'listed') return 'unexpected';
    this.#items.push({ path: frame.path, kind: frame.kind, bytes: frame.bytes });
    return undefined;
  }
}

export class SearchAnswer extends FileAnswer<Counted<FoundLine>> {
  readonly #items: FoundLine[] = [];

  protected override takePart(frame: AnswerFrame): Counted<FoundLine> | undefined | 'unexpected' {
    if (frame.type === 'counted') return { items: this.#items, total: frame.total, isComplete: frame.complete };
    if (frame.type !== 'match') return 'unexpected';
    this.#items.push({ path: frame.path, line: frame.line, text: frame.text });
    return undefined;
  }
}

export class ChangeAnswer extends FileAnswer<true> {
  protected override takePart(frame: AnswerFrame): true | 'unexpected' {
    return frame.type === 'done' ? true : 'unexpected';
  }
}
