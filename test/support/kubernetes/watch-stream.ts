import type { ServerResponse } from 'node:http';
import { matchesLabels, Refusal } from './api-objects.ts';
import type { InjectedFault } from './faults.ts';
import type { ObjectStore, StoreEvent } from './object-store.ts';

/** How often a quiet watch receives its current version; API servers send it about every minute. */
const BOOKMARK_MS = 60_000;

/** One watch: events as lines of JSON, for as long as the client listens. */
export function serveWatch(
  store: ObjectStore,
  resource: string,
  query: URLSearchParams,
  response: ServerResponse,
  fault: InjectedFault | undefined,
): void {
  const selector = query.get('labelSelector') ?? '';
  matchesLabels(selector, {});
  const since = query.get('resourceVersion') ?? String(store.version);
  if (!/^\d+$/.test(since)) throw new Refusal(500, '', `resourceVersion: Invalid value: ${JSON.stringify(since)}: invalid syntax`);
  const write = writer(response, fault);
  const onEvent = ({ type, object }: StoreEvent): void => {
    if (matchesLabels(selector, object.metadata.labels ?? {})) write({ type, object });
  };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  try {
    const stop = store.watch(resource, Number(since), onEvent);
    const bookmarks = setInterval(() => {
      const metadata = { resourceVersion: String(store.version) };
      if (query.get('allowWatchBookmarks') === 'true') write({ type: 'BOOKMARK', object: { kind: 'Pod', apiVersion: 'v1', metadata } });
    }, BOOKMARK_MS);
    response.once('close', () => {
      clearInterval(bookmarks);
      stop();
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    write({ type: 'ERROR', object: error.status() });
    response.end();
  }
}

function writer(response: ServerResponse, fault: InjectedFault | undefined): (event: object) => void {
  let count = 0;
  let held: string | undefined;
  const line = (text: string): void => void response.write(`${text}\n`);
  return (event) => {
    // Earlier events are sent at once, also when the connection ends in the middle of them.
    if (response.writableEnded || response.destroyed) return;
    const text = JSON.stringify(event);
    count += 1;
    switch (fault?.kind) {
      case 'silence':
        return fault.strike() ? undefined : line(text);
      case 'half-frame':
        if (count < 3 || !fault.strike()) return line(text);
        return void response.end(text.slice(0, text.length / 2));
      case 'drop':
        if (count <= (fault.after ?? 0) || !fault.strike()) return line(text);
        return void response.destroy();
      case 'reorder': {
        if (held === undefined) return void (held = text);
        line(text);
        line(held);
        held = undefined;
        fault.strike();
        return;
      }
      case 'delay':
        fault.strike();
        return void setTimeout(() => line(text), fault.milliseconds);
      case 'status':
      case 'disaster':
      case undefined:
        return line(text);
    }
  };
}
