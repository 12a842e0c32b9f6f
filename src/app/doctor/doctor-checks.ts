import { pino } from 'pino';
import { LOCAL_CALLER } from '../../service/access/caller.ts';
import { findUsablePython } from '../../adapters/sandbox/local/template/python-template.ts';
import type { Config } from '../../config/config.ts';
import type { TemplateConfig } from '../../config/schema.ts';
import { createLiveEpisodesCheck, createStoreCheck, createTrajectoriesCheck } from './store-checks.ts';
import { createDiskCheck, createNodeCheck, openFilesCheck, createUserCheck } from './machine-checks.ts';
import { createPythonCheck, createRemoteCheck, createRunnerCheck } from './sandbox-checks.ts';
import { systemClock } from '../../kernel/clock.ts';
import { namesServer } from '../../kernel/documents/store-url.ts';
import type { HealthCheck } from '../../kernel/health-check.ts';
import { PACKAGE_ROOT } from '../../kernel/package-root.ts';
import type { Isolation } from '../../pool/ports/template.ts';
import type { ProviderPlugin } from '../../pool/ports/provider-plugin.ts';
import { Pools } from '../pools.ts';
import { getPlugin, PROVIDERS } from '../sandboxes/providers.ts';

function isHere(template: TemplateConfig): boolean {
  return getPlugin(template).isOwnMachine;
}

/** Lists what `muster doctor` checks on this machine. */
export function createDoctorChecks(config: Config): readonly HealthCheck[] {
  const templates = Object.entries(config.templates);
  const listTemplates = ({ name }: ProviderPlugin): ReadonlyMap<string, TemplateConfig> =>
    new Map(templates.filter(([, { provider }]) => provider === name));
  const startable = templates.filter(([, template]) => isHere(template));
  return [
    createNodeCheck(process.versions.node),
    ...PROVIDERS.flatMap((plugin) => plugin.checks(listTemplates(plugin))),
    ...startable
      .filter(([, { command }]) => command === undefined)
      .map(([name, { python, imports }]) => createPythonCheck(name, (signal) => findUsablePython(python, imports, PACKAGE_ROOT, signal))),
    ...startable.map(([name]) => createRunnerCheck(name, (signal) => measureStart(config, name, signal))),
    ...templates
      .filter(([, template]) => !isHere(template))
      .map(([name, { provider }]) => createRemoteCheck(provider, name, (signal) => describeRemote(config, name, signal))),
    createDiskCheck(config.stateDir),
    openFilesCheck(config.pool.max),
    ...(namesServer(config.store.url) ? [createStoreCheck(config.store.url)] : []),
    ...(config.arena.live === 'memory' ? [] : [createLiveEpisodesCheck(config.arena.live)]),
    ...(config.arena.trajectories === 'store' ? [] : [createTrajectoriesCheck(config.arena.trajectories)]),
    createUserCheck(process.getuid?.()),
  ];
}

async function describeRemote(config: Config, template: string, signal: AbortSignal): Promise<Isolation> {
  await using pools = new Pools(config, systemClock, pino({ level: 'silent' }));
  return await pools.describe({ template, policy: 'together' }, signal);
}

async function measureStart(config: Config, template: string, signal: AbortSignal): Promise<number> {
  const began = systemClock.now();
  await using pools = new Pools(config, systemClock, pino({ level: 'silent' }));
  const { policy } = pools.getSettings(template);
  const pool = await pools.open({ template, policy: policy === 'apart' ? 'apart' : 'together' }, signal);
  await using _lease = await pool.acquire({ kind: 'data', principal: LOCAL_CALLER.principal }, signal);
  return (systemClock.now() - began) / 1000;
}
