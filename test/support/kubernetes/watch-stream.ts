import type { ServerResponse } from 'node:http';
import { matchesLabels, Refusal } from './api-objects.ts';
import type { Fault } from './faults.ts';
import type { ObjectStore, StoreEvent } from './object-store.ts';

/** How often a quiet watch is told the version that it is at; API servers do so about every minute. */
const BOOKMARK_MS = 60_000;

/** One watch: events as lines of JSON, for as long as the client listens. */
export function serveWatch(
  store: ObjectStore,
  resource: string,
  query: URLSearchParams,
  response: ServerResponse,
  fault: Fault | undefined,
): void {
  const selector = query.get('labelSelector') ?? '';
  const write = writer(response, fault);
  const onEvent = ({ type, object }: StoreEvent): void => {
    if (matchesLabels(selector, object.metadata.labels ?? {})) write({ type, object });
  };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  try {
    const stop = store.watch(resource, Number(query.get('resourceVersion') ?? store.version), onEvent);
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

function writer(response: ServerResponse, fault: Fault | undefined): (event: object) => void {
  let count = 0;
  let held: string | undefined;
  const line = (text: string): void => void response.write(`${text}\n`);
  return (event) => {
    const text = JSON.stringify(event);
    count += 1;
    switch (fault?.kind) {
      case 'silence':
        return;
      case 'half-frame':
        if (count < 3) return line(text);
        return void response.end(text.slice(0, text.length / 2));
      case 'drop':
        if (count <= (fault.after ?? 0)) return line(text);
        return void response.destroy();
      case 'reorder': {
        if (held === undefined) return void (held = text);
        line(text);
        line(held);
        held = undefined;
        return;
      }
      case 'delay':
        return void setTimeout(() => line(text), fault.milliseconds);
      case 'status':
      case undefined:
        return line(text);
    }
  };
}
