import { isUtf8 } from 'node:buffer';
import type { OutputBounds } from '../workspace/command.ts';
import type { FileResult } from '../workspace/file-answers.ts';
import { type FileChange, WorkspaceFiles } from '../workspace/workspace-files.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import type { WorkspaceDelta } from '../workspace/workspace-snapshots.ts';
import { FILE_BYTES, type Action, type Misfit } from './action.ts';
import { refuse, refuseFile } from './refusals.ts';
import { CommandActions, type ActionTerms } from './command-actions.ts';
import { escapeText, shortenText } from './escaped-text.ts';
import { MOST_ENTRIES, MOST_MATCHES, type Observation, type ObservationData } from './observation.ts';
import type { ToolCall } from './own-tool.ts';
import { toObservation } from './observation-text.ts';
import { patchText, readPatch } from './patched-files.ts';

export const SHOWN_TO_AGENTS: OutputBounds = { head: 16 * 1024, tail: 16 * 1024, most: 64 * 2 ** 20 };

/** An action's effect on files. */
export interface Effect {
  /** Its own changes. */
  readonly delta: WorkspaceDelta;
  /** Whether programs have run, which may have changed anything. */
  readonly isOpen: boolean;
  /** Their changes, where they were read together. */
  readonly changes?: FileResult<WorkspaceDelta> | undefined;
}

const NOTHING_CHANGED: WorkspaceDelta = { entries: [], removed: [] };

interface Done {
  readonly data: ObservationData;
  readonly bytesWritten?: number;
  readonly delta?: WorkspaceDelta;
  readonly changes?: FileResult<WorkspaceDelta> | undefined;
}

export interface Performed {
  readonly observation: Observation;
  /** Bytes that the action itself has written. The sandbox bounds what a command writes. */
  readonly bytesWritten: number;
  readonly effect: Effect;
}

/** Carries out an agent's actions in its workspace, one after the other. Mistakes of the agent become observations. */
export class ActionExecutor {
  readonly #files: WorkspaceFiles;
  readonly #terms: ActionTerms;
  readonly #commands: CommandActions;
  /** Whether commands were started that may change files at any time. */
  #runsOn = false;

  constructor(session: WorkspaceSession, terms: ActionTerms) {
    this.#files = new WorkspaceFiles(session);
    this.#commands = new CommandActions(session, terms);
    this.#terms = terms;
  }

  /** @param seconds most seconds of a command, whatever it requests. @throws InfrastructureError when the workspace is lost; the signal's reason. */
  async perform(action: Action, seconds: number, signal: AbortSignal): Promise<Performed> {
    return this.#toPerformed(await this.#carryOut(action, seconds, signal));
  }

  /** Runs a tool of the task. @throws as `perform` does. */
  async callTool(call: ToolCall, seconds: number, signal: AbortSignal): Promise<Performed> {
    return this.#toPerformed(await this.#commands.callTool(call, seconds, signal));
  }

  #toPerformed({ data, bytesWritten = 0, delta = NOTHING_CHANGED, changes }: Done): Performed {
    if (data.kind === 'started') this.#runsOn = true;
    return { observation: toObservation(data), bytesWritten, effect: { delta, isOpen: data.kind === 'ran' || this.#runsOn, changes } };
  }

  async #carryOut(action: Action, seconds: number, signal: AbortSignal): Promise<Done> {
    switch (action.action) {
      case 'read_file':
        return { data: await this.#read(action, signal) };
      case 'write_file':
        return await this.#write(action.file, Buffer.from(action.content), signal);
      case 'edit_file':
        return await this.#edit(action, signal);
      case 'apply_patch':
        return await this.#patch(action.patch, signal);
      case 'list_files':
        return { data: await this.#list(action, signal) };
      case 'search':
        return { data: await this.#search(action, signal) };
      case 'run':
      case 'start':
      case 'poll':
      case 'stop':
        return await this.#commands.perform(action, seconds, signal);
      case 'submit':
        return { data: { kind: 'submitted' } };
    }
  }

  async #read({ file, from, lines }: Extract<Action, { action: 'read_file' }>, signal: AbortSignal): Promise<ObservationData> {
    const read = await this.#readText(file, signal);
    if ('refused' in read) return read.refused;
    const all = read.text === '' ? [] : read.text.split(/(?<=\n)/);
    const shown = all.slice(from - 1, lines === undefined ? undefined : from - 1 + lines);
    const { content, omitted } = shortenText(shown.join(''));
    return { kind: 'file', file, content, from, lines: all.length, bytes: Buffer.byteLength(read.text), omitted };
  }

  async #write(file: string, content: Buffer, signal: AbortSignal): Promise<Done> {
    const changed = await this.#files.change({ written: [{ path: this.#resolvePath(file), content }], removed: [] }, signal);
    if (changed.kind === 'refused') return { data: refuseFile(changed.refusal) };
    return { data: { kind: 'written', file, bytes: content.length }, bytesWritten: content.length, delta: changed.result };
  }

  async #edit({ file, old, new: replacement }: Extract<Action, { action: 'edit_file' }>, signal: AbortSignal): Promise<Done> {
    const read = await this.#files.read(this.#resolvePath(file), FILE_BYTES, signal);
    if (read.kind === 'refused') return { data: refuseFile(read.refusal) };
    const content = read.result;
    const sought = Buffer.from(old);
    const at = content.indexOf(sought);
    if (at < 0) return { data: refuse('no-match', `${file} does not hold the text of "old"; give the text exactly as it is in the file`) };
    if (content.includes(sought, at + 1))
      return { data: refuse('several-matches', `${file} holds the text of "old" more than once; add lines around it until there is one`) };
    const changed = Buffer.concat([content.subarray(0, at), Buffer.from(replacement), content.subarray(at + sought.length)]);
    const written = await this.#write(file, changed, signal);
    if (written.data.kind === 'refused') return written;
    const line = 1 + content.subarray(0, at).toString('latin1').split('\n').length - 1;
    return { ...written, data: { kind: 'edited', file, line, bytes: changed.length } };
  }

  async #patch(text: string, signal: AbortSignal): Promise<Done> {
    const read = readPatch(text);
    if (read.kind === 'problem') return { data: refuse('patch', read.detail) };
    const texts = new Map<string, string | null>();
    const files: { file: string; change: 'added' | 'changed' | 'removed' }[] = [];
    for (const part of read.files) {
      const { source, target } = part;
      const before = source === null ? { text: '' } : await this.#readBefore(source, texts, signal);
      if ('refused' in before) return { data: before.refused };
      const obstacle = source === null && target !== null ? await this.#findObstacle(target, texts, signal) : undefined;
      if (obstacle) return { data: obstacle };
      const after = patchText(before.text, part);
      if ('problem' in after) return { data: refuse('patch', `${source ?? target ?? ''}: ${after.problem}`) };
      if (source !== null && source !== target) texts.set(source, null);
      if (target !== null) texts.set(target, after.text);
      if (source !== null && source !== target) files.push({ file: source, change: 'removed' });
      if (target !== null) files.push({ file: target, change: source === target ? 'changed' : 'added' });
    }
    const { change, bytes } = this.#buildChange(texts);
    const changed = await this.#files.change(change, signal);
    if (changed.kind === 'refused') return { data: refuseFile(changed.refusal) };
    return { data: { kind: 'patched', files }, bytesWritten: bytes, delta: changed.result };
  }

  /** Reads a file as the earlier parts of the patch have left it. */
  async #readBefore(file: string, texts: ReadonlyMap<string, string | null>, signal: AbortSignal): Promise<TextOfFile> {
    const known = texts.get(file);
    if (known === undefined) return await this.#readText(file, signal);
    return known === null ? { refused: refuse('missing', `${file}: the patch has removed it before`) } : { text: known };
  }

  /** @returns why a patch cannot make a file. */
  async #findObstacle(file: string, texts: ReadonlyMap<string, string | null>, signal: AbortSignal): Promise<ObservationData | undefined> {
    const known = texts.get(file);
    if (known === null) return undefined;
    const read = known === undefined ? await this.#files.read(this.#resolvePath(file), FILE_BYTES, signal) : undefined;
    if (read?.kind === 'refused' && read.refusal.kind === 'missing') return undefined;
    if (read?.kind === 'refused' && read.refusal.kind !== 'too-large') return refuseFile(read.refusal);
    return refuse('patch', `${file}: the patch makes it, but it is there already`);
  }

  #buildChange(texts: ReadonlyMap<string, string | null>): { readonly change: FileChange; readonly bytes: number } {
    const written: { path: string; content: Buffer }[] = [];
    const removed: string[] = [];
    for (const [file, text] of texts) {
      if (text === null) removed.push(this.#resolvePath(file));
      else written.push({ path: this.#resolvePath(file), content: Buffer.from(text) });
    }
    return { change: { written, removed }, bytes: written.reduce((sum, { content }) => sum + content.length, 0) };
  }

  async #list({ path, depth }: Extract<Action, { action: 'list_files' }>, signal: AbortSignal): Promise<ObservationData> {
    const listed = await this.#files.list(this.#resolvePath(path), depth, MOST_ENTRIES, signal);
    if (listed.kind === 'refused') return refuseFile(listed.refusal);
    const { items, total, isComplete } = listed.result;
    return {
      kind: 'listed',
      path,
      entries: items.map(({ path: each, kind, bytes }) => ({ path: escapeText(each), kind, bytes })),
      total,
      isComplete,
    };
  }

  async #search({ text, path, ignoreCase }: Extract<Action, { action: 'search' }>, signal: AbortSignal): Promise<ObservationData> {
    const found = await this.#files.search(this.#resolvePath(path), { text, ignoresCase: ignoreCase }, MOST_MATCHES, signal);
    if (found.kind === 'refused') return refuseFile(found.refusal);
    const { items, total, isComplete } = found.result;
    const matches = items.map((item) => ({ file: escapeText(item.path), line: item.line, text: escapeText(item.text) }));
    return { kind: 'found', matches, total, isComplete };
  }

  async #readText(file: string, signal: AbortSignal): Promise<TextOfFile> {
    const read: FileResult<Buffer> = await this.#files.read(this.#resolvePath(file), FILE_BYTES, signal);
    if (read.kind === 'refused') return { refused: refuseFile(read.refusal) };
    if (!isUtf8(read.result) || read.result.includes(0))
      return { refused: refuse('no-text', `${file} is no text (${read.result.length} bytes); run a program to look at it`) };
    return { text: read.result.toString('utf8') };
  }

  /** Links and ".." are left to the program in the workspace, which knows what they lead to. */
  #resolvePath(file: string): string {
    return file.startsWith('/') ? file : `${this.#terms.workdir}/${file}`;
  }
}

type TextOfFile = { readonly text: string } | { readonly refused: ObservationData };

/** An invalid action has an observation, too. */
export function describeMisfit({ reason, detail }: Misfit): Observation {
  return toObservation(refuse(reason, detail));
}
