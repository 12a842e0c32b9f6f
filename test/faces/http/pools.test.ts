import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { PoolSize } from '../../../src/pool/planning/pool-config.ts';
import type { SandboxUsage } from '../../../src/kernel/sandbox-usage.ts';
import { NOTHING_MADE, type PoolState } from '../../../src/pool/members/pool-state.ts';
import { createEndedCounter, addFigureRoutes, measure } from '../../../src/faces/http/figures.ts';
import { poolListSchema } from '../../../src/faces/http/schemas/pool-schemas.ts';
import { addPoolRoutes } from '../../../src/faces/http/routes/pool-routes.ts';
import { PoolService, type ManagedPools } from '../../../src/service/upkeep/pool-service.ts';
import { settle } from '../../support/manual-clock.ts';
import { ServerFixture } from '../../support/server-fixture.ts';
import { ServiceFixture } from '../../support/service-fixture.ts';

/** Idle pools, of which only the sizes matter. */
class PaperPools implements ManagedPools {
  readonly templates = ['local', 'large'];
  readonly #sizes = new Map<string, PoolSize>();
  readonly draining = new Set<string>();
  readonly usages = new Map<string, SandboxUsage>();

  getProvider(): string {
    return 'paper';
  }

  getSize(template: string): PoolSize {
    return this.#sizes.get(template) ?? { min: 0, max: 4, warm: 1 };
  }

  resize(template: string, size: PoolSize, drains: boolean): void {
    this.#sizes.set(template, size);
    if (drains) this.draining.add(template);
    else this.draining.delete(template);
  }

  getState(): PoolState | undefined {
    return this.usages.size === 0 ? undefined : NOTHING_MADE;
  }

  readUsage(): Promise<ReadonlyMap<string, SandboxUsage>> {
    return Promise.resolve(new Map(this.usages));
  }
}

async function opened(): Promise<{
  server: ServerFixture;
  pools: PoolService;
  fleet: PaperPools;
  store: ServiceFixture['store'];
  clock: ServiceFixture['clock'];
}> {
  const { store, clock } = new ServiceFixture();
  const fleet = new PaperPools();
  const pools = new PoolService(fleet, store.audit, clock);
  const registry = new Registry();
  const server = await ServerFixture.open({}, { more: [(app) => addPoolRoutes(app, pools), (app) => addFigureRoutes(app, registry)] });
  measure(registry, { service: server.service, pools, delivered: { bytes: 1040, deltaBytes: 40 } });
  return { server, pools, fleet, store, clock };
}

describe('the pools of a server', () => {
  it('are listed before they are used', async () => {
    const { server } = await opened();
    await using _server = server;
    const { json } = await server.send('GET', '/v1/pools');
    expect(json).toMatchObject({
      items: [{ name: 'local', provider: 'paper', min: 0, max: 4, warm: 1, draining: false, phase: 'unused' }, { name: 'large' }],
    });
  });

  it('say what their sandboxes use, measured every two seconds while someone looks', async () => {
    const { server, fleet, clock } = await opened();
    await using _server = server;
    const look = async (): Promise<unknown> => {
      await server.send('GET', '/v1/pools');
      await settle();
      const { items } = poolListSchema.parse((await server.send('GET', '/v1/pools')).json);
      return items[0]?.usage;
    };
    expect(await look()).toBeNull();
    fleet.usages.set('one', { cpuSeconds: 10, peakMemoryBytes: 100 });
    expect(await look()).toEqual({ sandboxes: 1, processors: null, memoryBytes: 100, largestMemoryBytes: 100 });
    await clock.advance(1999);
    fleet.usages.set('one', { cpuSeconds: 12, peakMemoryBytes: 300 }).set('new', { cpuSeconds: 1, peakMemoryBytes: 200 });
    expect(await look()).toMatchObject({ sandboxes: 1 });
    await clock.advance(1);
    expect(await look()).toEqual({ sandboxes: 2, processors: 1.5, memoryBytes: 500, largestMemoryBytes: 300 });
  });

  it('are scaled at once, and the audit says by whom', async () => {
    const { server, fleet, store } = await opened();
    await using _server = server;
    const answer = await server.send('PATCH', '/v1/pools/local', { body: { max: 16, warm: 2 } });
    expect(answer).toMatchObject({ status: 200, json: { name: 'local', min: 0, max: 16, warm: 2 } });
    expect(fleet.getSize('local')).toEqual({ min: 0, max: 16, warm: 2 });
    const { items } = await store.audit.list({ limit: 10 });
    expect(items).toMatchObject([
      { principal: 'local', action: 'pool.scale', target: 'local', details: { before: { max: 4 }, after: { max: 16, warm: 2 } } },
    ]);
  });

  it('apply all changes that come at the same moment, and the audit has each with what it changed', async () => {
    const { server, pools, fleet, store } = await opened();
    await using _server = server;
    await Promise.all([{ max: 16 }, { warm: 2 }, { min: 1 }].map((change) => pools.change('local', change, 'operator')));
    expect(fleet.getSize('local')).toEqual({ min: 1, max: 16, warm: 2 });
    const { items } = await store.audit.list({ limit: 10 });
    const details = items.map((item) => item.details);
    expect(details).toMatchObject([
      { before: { min: 0, max: 16, warm: 2 }, after: { min: 1, max: 16, warm: 2 } },
      { before: { max: 16, warm: 1 }, after: { max: 16, warm: 2 } },
      { before: { max: 4, warm: 1 }, after: { max: 16, warm: 1 } },
    ]);
  });

  it('that drain grant no slots, and waiting evaluations continue when they are opened again, with the same size', async () => {
    const { server, pools, fleet } = await opened();
    await using _server = server;
    using share = pools.getSlots('local').join({ principal: 'alice', priority: 0 });
    const { signal } = new AbortController();
    const held = await share.take(signal);
    expect(await server.send('PATCH', '/v1/pools/local', { body: { draining: true } })).toMatchObject({
      json: { draining: true, max: 4, warm: 1 },
    });
    expect(held.recalled.aborted).toBe(true);
    expect(fleet.getSize('local')).toEqual({ min: 0, max: 4, warm: 1 });
    expect([...fleet.draining]).toEqual(['local']);
    held[Symbol.dispose]();
    const waiting = share.take(signal);
    const first = await Promise.race([waiting, settle().then(() => 'still waiting')]);
    expect(first).toBe('still waiting');
    await server.send('PATCH', '/v1/pools/local', { body: { max: 8 } });
    expect([...fleet.draining]).toEqual(['local']);
    await server.send('PATCH', '/v1/pools/local', { body: { draining: false } });
    expect(fleet.getSize('local')).toEqual({ min: 0, max: 8, warm: 1 });
    expect([...fleet.draining]).toEqual([]);
    (await waiting)[Symbol.dispose]();
  });

  it.each([
    ['unknown', { max: 2 }, 404, 'pool.not-found'],
    ['local', { min: 5 }, 422, 'pool.size'],
    ['local', {}, 400, 'request.invalid'],
    ['local', { max: 0 }, 400, 'request.invalid'],
  ])('%s cannot be changed by %o', async (name, body, status, code) => {
    const { server, store } = await opened();
    await using _server = server;
    expect(await server.send('PATCH', `/v1/pools/${name}`, { body })).toMatchObject({ status, json: { code } });
    expect((await store.audit.list({ limit: 10 })).items).toEqual([]);
  });
});

describe('the figures of a server', () => {
  it('have ended evaluations of each state from the start, so that the first is an increase', async () => {
    const registry = new Registry();
    createEndedCounter(registry)('failed');
    const text = await registry.metrics();
    expect(text).toContain('muster_evaluations_ended_total{state="finished"} 0');
    expect(text).toContain('muster_evaluations_ended_total{state="failed"} 1');
  });

  it('count requests by call and status, never by text from callers', async () => {
    const { server } = await opened();
    await using _server = server;
    await server.send('GET', '/v1/evaluations/nothing');
    await server.send('GET', '/v1/evaluations/nothing-else');
    const { text, headers } = await server.send('GET', '/metrics');
    expect(headers['content-type']).toContain('text/plain');
    expect(text).toContain('muster_http_request_seconds_count{call="GET /v1/evaluations/:id",status="404"} 2');
    expect(text).toContain('muster_sandboxes_max{pool="local"} 4');
    expect(text).toContain('muster_evaluations_playing 0');
    expect(text).toContain('muster_delivery_bytes_total{as="file"} 1000');
    expect(text).toContain('muster_delivery_bytes_total{as="delta"} 40');
    expect(text).not.toContain('nothing');
  });
});
