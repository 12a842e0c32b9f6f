import { describe, expect, it } from 'vitest';
import { InfrastructureError } from '../../src/kernel/errors.ts';
import type { FetchOrder, FetchWay } from '../../src/kernel/fetching.ts';
import { parseDigest } from '../../src/kernel/ids.ts';
import { silentLog } from '../../src/kernel/log.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import { listDeliveryWays, UPLOADED_BYTES, type Delivery, type DeliveryWay } from '../../src/policy-distribution/delivery/delivery-ways.ts';
import { Distributor, type Inbox } from '../../src/policy-distribution/delivery/distributor.ts';

const BOTH: readonly FetchWay[] = ['shared-cache', 'pull'];
const LARGE = UPLOADED_BYTES + 1;

describe('the ways that are tried', () => {
  it.each<[Delivery, number, readonly FetchWay[], readonly DeliveryWay[]]>([
    ['auto', UPLOADED_BYTES, BOTH, ['upload']],
    ['auto', LARGE, BOTH, ['shared-cache', 'pull', 'upload']],
    ['auto', LARGE, ['pull'], ['pull', 'upload']],
    ['auto', LARGE, [], ['upload']],
    ['upload', LARGE, BOTH, ['upload']],
    ['pull', 1, BOTH, ['pull']],
    ['node-cache', 1, BOTH, ['shared-cache', 'pull']],
    ['node-cache', 1, ['shared-cache'], ['shared-cache']],
  ])('of %s with %i bytes, where %j is offered, are %j', (delivery, bytes, offered, ways) => {
    expect(listDeliveryWays(delivery, bytes, offered)).toEqual(ways);
  });
});

const NEVER = new AbortController().signal;
const ORIGIN = { link: async ({ path }: { readonly path: string }) => ({ url: `http://origin/${path}` }) };
const HEX = 'ab'.repeat(32);

function checkpoint(size: number, kind: 'file' | 'directory' = 'file'): StoredCheckpoint {
  const digest = parseDigest(`sha256:${HEX}`);
  return { digest, kind, labels: {}, files: [{ path: 'policy.safetensors', digest, size, hostPath: '/store/policy' }] };
}

/** A sandbox that notes what is asked of it, and in which some ways fail. */
class NotingInbox implements Inbox {
  readonly asked: string[] = [];
  readonly orders: FetchOrder[] = [];
  readonly capabilities;

  constructor(ways: readonly FetchWay[], failing: readonly FetchWay[] = [], code = 'sandbox.fetch') {
    const fetching = {
      ways,
      fetch: async (way: FetchWay, order: FetchOrder): Promise<string> => {
        this.asked.push(way);
        this.orders.push(order);
        if (failing.includes(way)) throw new InfrastructureError(code, `${way} failed`);
        return `/${way}/${HEX}`;
      },
    };
    this.capabilities = { fetching };
  }

  async upload(path: string): Promise<string> {
    this.asked.push('upload');
    return `/inbox/${path}`;
  }
}

describe('a distributor', () => {
  it('has a large checkpoint fetched by its links, and says how it came', async () => {
    const inbox = new NotingInbox(['pull']);
    const distributor = new Distributor({ origin: ORIGIN });
    expect(await distributor.deliver(checkpoint(LARGE), inbox, NEVER)).toBe(`/pull/${HEX}/policy.safetensors`);
    expect(await distributor.deliver(checkpoint(LARGE), inbox, NEVER)).toBe(`/pull/${HEX}/policy.safetensors`);
    expect(inbox.asked).toEqual(['pull']);
    expect(inbox.orders[0]?.files).toEqual([
      { path: 'policy.safetensors', size: LARGE, digest: `sha256:${HEX}`, url: 'http://origin/policy.safetensors' },
    ]);
    expect(distributor.deliveries).toEqual({ pull: 1 });
  });

  it('names the directory of one that is a directory', async () => {
    const distributor = new Distributor({ origin: ORIGIN, delivery: 'pull' });
    expect(await distributor.deliver(checkpoint(1, 'directory'), new NotingInbox(['pull']), NEVER)).toBe(`/pull/${HEX}`);
  });

  it('falls back from one way to the next, and counts the one that did it', async () => {
    const inbox = new NotingInbox(BOTH, BOTH);
    const distributor = new Distributor({ origin: ORIGIN });
    expect(await distributor.deliver(checkpoint(LARGE), inbox, NEVER)).toBe(`/inbox/${HEX}/policy.safetensors`);
    expect(inbox.asked).toEqual(['shared-cache', 'pull', 'upload']);
    expect(distributor.deliveries).toEqual({ upload: 1 });
  });

  it('does not put private files into a directory that every pod reads, unless the template names it', async () => {
    const [unnamed, named] = [new NotingInbox(BOTH), new NotingInbox(BOTH)];
    const options = { origin: ORIGIN, isConfidential: true };
    await new Distributor(options).deliver(checkpoint(LARGE), unnamed, NEVER);
    await new Distributor({ ...options, delivery: 'node-cache' }).deliver(checkpoint(LARGE), named, NEVER);
    expect([unnamed.asked, named.asked]).toEqual([['pull'], ['shared-cache']]);
  });

  it('asks a node each time: it may have removed a file since', async () => {
    const inbox = new NotingInbox(['shared-cache']);
    const distributor = new Distributor({ origin: ORIGIN });
    for (let i = 0; i < 2; i += 1) await distributor.deliver(checkpoint(LARGE), inbox, NEVER);
    expect(inbox.asked).toEqual(['shared-cache', 'shared-cache']);
  });

  it('tries nothing else when the sandbox itself is gone, or the template names one way', async () => {
    const gone = new NotingInbox(['pull'], ['pull'], 'sandbox.gone');
    await expect(new Distributor({ origin: ORIGIN }).deliver(checkpoint(LARGE), gone, NEVER)).rejects.toHaveProperty(
      'code',
      'sandbox.gone',
    );
    const named = new NotingInbox(['pull'], ['pull']);
    const distributor = new Distributor({ origin: ORIGIN, delivery: 'pull' });
    await expect(distributor.deliver(checkpoint(LARGE), named, NEVER)).rejects.toHaveProperty('code', 'sandbox.fetch');
    expect([...gone.asked, ...named.asked]).toEqual(['pull', 'pull']);
  });

  it('sends files without an origin', async () => {
    const inbox = new NotingInbox(['pull']);
    await new Distributor().deliver(checkpoint(LARGE), inbox, NEVER);
    expect(inbox.asked).toEqual(['upload']);
  });

  it('warns once that a large checkpoint is sent where sandboxes could fetch it, with the remedy', async () => {
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (_fields: object, message: string): void => void warnings.push(message) };
    const distributor = new Distributor({ log });
    await distributor.deliver(checkpoint(LARGE), new NotingInbox([]), NEVER);
    await distributor.deliver(checkpoint(LARGE), new NotingInbox(['pull']), NEVER);
    expect(warnings).toEqual([expect.stringContaining('set delivery.url')]);
    const small = new Distributor({ log });
    await small.deliver(checkpoint(1), new NotingInbox([]), NEVER);
    expect(warnings).toHaveLength(1);
  });

  it.each([
    [false, 'kubernetes.nodeCache or kubernetes.network: origin'],
    [true, 'delivery.url, and kubernetes.network: origin'],
  ])(
    'names as the remedy only ways that it would take itself: what is for some alone (%s) is in no cache',
    async (isConfidential, remedy) => {
      const warnings: string[] = [];
      const log = { ...silentLog, warn: (_fields: object, message: string): void => void warnings.push(message) };
      await new Distributor({ log, isConfidential, origin: ORIGIN }).deliver(checkpoint(LARGE), new NotingInbox([]), NEVER);
      expect(warnings).toEqual([expect.stringContaining(remedy)]);
    },
  );

  it('delivers nothing twice to a sandbox, and counts each run separately', async () => {
    const inbox = new NotingInbox([]);
    const shared = new Distributor();
    const [first, second] = [shared.createForRun({}), shared.createForRun({})];
    await first.deliver(checkpoint(1), inbox, NEVER);
    await second.deliver(checkpoint(1), inbox, NEVER);
    expect([first.deliveries, second.deliveries]).toEqual([{ upload: 1 }, {}]);
  });
});
