import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { FinalState } from '../../evaluation-store/evaluation-record.ts';
import type { EvaluationService } from '../../service/evaluation-service.ts';
import type { PoolService } from '../../service/upkeep/pool-service.ts';
import { textSchema } from './schemas/evaluation-schemas.ts';
import { PROBLEMS } from './problems/problem-responses.ts';
import { formatRoute } from './problems/schema-compilers.ts';

const FINAL_STATES: readonly FinalState[] = ['finished', 'cancelled', 'failed'];

/** Counts evaluations that have ended. */
export function createEndedCounter(registry: Registry): (state: FinalState) => void {
  const ended = new Counter({
    name: 'muster_evaluations_ended_total',
    help: 'Evaluations and comparisons that this process has ended, by how',
    labelNames: ['state'],
    registers: [registry],
  });
  // A series that begins with its first event would not show an increase for it.
  for (const state of FINAL_STATES) ended.inc({ state }, 0);
  return (state) => ended.inc({ state });
}

export interface Measured {
  readonly service: Pick<EvaluationService, 'playing'>;
  readonly pools: PoolService;
  /** The bytes that sandboxes have fetched from this process. The object keeps counting. */
  readonly delivered: Delivered;
}

export interface Delivered {
  /** The number of all bytes that were sent. */
  readonly bytes: number;
  /** The part of these bytes that belongs to files sent as deltas. */
  readonly deltaBytes: number;
}

/** Adds figures that are computed on request. */
export function measure(registry: Registry, { service, pools, delivered }: Measured): void {
  addGauge(registry, 'muster_evaluations_playing', 'Evaluations and comparisons that this process plays', [], (set) => {
    set({}, service.playing.length);
  });
  addGauge(registry, 'muster_sandboxes', 'Sandboxes now, by state', ['pool', 'state'], (set) => {
    for (const { name, state } of pools.list())
      for (const [kind, count] of Object.entries(state?.sandboxes ?? {})) set({ pool: name, state: kind }, count);
  });
  addGauge(registry, 'muster_sandboxes_max', 'Sandboxes that there may be', ['pool'], (set) => {
    for (const { name, max, draining } of pools.list()) set({ pool: name }, draining ? 0 : max);
  });
  addGauge(registry, 'muster_leases_waiting', 'Places that wait for a sandbox', ['pool'], (set) => {
    for (const { name, waiting } of pools.list()) set({ pool: name }, waiting);
  });
  const totals = new Counter({
    name: 'muster_sandbox_events_total',
    help: 'Sandboxes created, destroyed, failed, died, abandoned; leases and revoked leases',
    labelNames: ['pool', 'event'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, state } of pools.list())
        for (const [event, count] of Object.entries(state?.totals ?? {})) this.inc({ pool: name, event }, count);
    },
  });
  totals.reset();
  const bytes = new Counter({
    name: 'muster_delivery_bytes_total',
    help: 'Bytes of checkpoints that sandboxes and the caches of nodes have fetched from this process by links, as whole files or as deltas',
    labelNames: ['as'],
    registers: [registry],
    collect() {
      this.reset();
      this.inc({ as: 'file' }, delivered.bytes - delivered.deltaBytes);
      this.inc({ as: 'delta' }, delivered.deltaBytes);
    },
  });
  bytes.reset();
}

/** Adds the figures in Prometheus' text format, including those of requests. */
export function addFigureRoutes(instance: FastifyInstance, registry: Registry): void {
  const seconds = new Histogram({
    name: 'muster_http_request_seconds',
    help: 'From a request to the end of its answer, streams included',
    labelNames: ['call', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers: [registry],
  });
  instance.addHook('onResponse', async (request, reply) => {
    seconds.observe({ call: formatRoute(request), status: reply.statusCode }, reply.elapsedTime / 1000);
  });
  instance.withTypeProvider<ZodTypeProvider>().get(
    '/metrics',
    {
      schema: {
        summary: 'Figures for Prometheus',
        tags: ['operation'],
        response: { 200: { description: 'figures', content: { 'text/plain': { schema: textSchema } } }, ...PROBLEMS },
      },
    },
    async (_request, reply) =>
      reply
        .header('content-type', registry.contentType)
        .serializer(String)
        .send(await registry.metrics()),
  );
}

type Set = (labels: Readonly<Record<string, string>>, value: number) => void;

function addGauge(registry: Registry, name: string, help: string, labelNames: readonly string[], look: (set: Set) => void): void {
  const made = new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      look((labels, value) => this.set(labels, value));
    },
  });
  made.reset();
}
