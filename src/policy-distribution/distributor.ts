import { digestHex } from './checkpoint.ts';
import type { StoredCheckpoint, StoredFile } from './checkpoint-store.ts';

/** What a sandbox offers for receiving files; see `Sandbox.upload`. */
export interface Inbox {
  upload(path: string, content: { readonly kind: 'file'; readonly hostPath: string }, signal: AbortSignal): Promise<string>;
}

/** Brings stored files in front of sandboxes, into each sandbox at most once. */
export class Distributor {
  readonly #delivered = new WeakMap<Inbox, Map<string, string>>();

  /** @returns the absolute path inside the sandbox: of the file, or of the directory. */
  async deliver(stored: StoredCheckpoint, inbox: Inbox, signal: AbortSignal): Promise<string> {
    const before = this.#delivered.get(inbox) ?? new Map<string, string>();
    this.#delivered.set(inbox, before);
    const known = before.get(stored.digest);
    if (known !== undefined) return known;
    const path = await upload(stored, inbox, signal);
    before.set(stored.digest, path);
    return path;
  }
}

async function upload(stored: StoredCheckpoint, inbox: Inbox, signal: AbortSignal): Promise<string> {
  const directory = digestHex(stored.digest);
  const send = (file: StoredFile): Promise<string> =>
    inbox.upload(`${directory}/${file.path}`, { kind: 'file', hostPath: file.hostPath }, signal);
  let root = '';
  for (const file of stored.files) {
    const path = await send(file);
    root = stored.kind === 'file' ? path : path.slice(0, -file.path.length - 1);
  }
  return root;
}
