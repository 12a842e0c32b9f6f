import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/app/configuration.ts';
import type { ConfigSources } from '../../src/config/load-config.ts';
import { isMapping } from '../../src/kernel/documents/path.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-test-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const HOME = '/home/someone';
const load = (sources: Partial<ConfigSources> = {}): Config =>
  loadConfig({ processors: 8, ...sources, environment: { HOME, ...sources.environment } });

function file(text: string): string {
  const path = join(directory, 'muster.yaml');
  writeFileSync(path, text);
  return path;
}

function leafPaths(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (!isMapping(value) || Object.keys(value).length === 0) return [path];
  return Object.entries(value).flatMap(([key, inner]) => leafPaths(inner, [...path, key]));
}

function upperSnake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

describe('the defaults', () => {
  it('run unchanged, sized to the machine', () => {
    const config = load();
    expect(config.stateDir).toBe('/home/someone/.local/state/muster');
    expect(config.pool).toMatchObject({ min: 0, max: 8, warm: 0, creationConcurrency: 256 });
    expect(config.templates['local']).toMatchObject({ provider: 'bubblewrap', python: 'auto', network: 'none' });
    expect(config.templates['local']?.limits.memoryBytes).toBe(2 * 2 ** 30);
  });

  it.each([
    ['an absolute XDG_STATE_HOME', { XDG_STATE_HOME: '/var/state' }, '/var/state/muster'],
    ['a relative XDG_STATE_HOME, which counts as none', { XDG_STATE_HOME: 'state' }, '/home/someone/.local/state/muster'],
    ['a stateDir with ~', { MUSTER_STATE_DIR: '~/muster-state' }, '/home/someone/muster-state'],
    ['a stateDir that only begins with a tilde', { MUSTER_STATE_DIR: '/data/~x' }, '/data/~x'],
  ])('put the state by %s', (_, environment, expected) => {
    expect(load({ environment }).stateDir).toBe(expected);
  });

  it('need a home directory only without a state directory', () => {
    expect(() => load({ environment: { HOME: undefined } })).toThrow('HOME is not set');
    expect(load({ environment: { HOME: undefined, MUSTER_STATE_DIR: '/data' } }).stateDir).toBe('/data');
  });
});

describe('layers', () => {
  const flags = [{ name: '--sandboxes', path: ['pool', 'max'], value: 400 }];
  const environment = { MUSTER_POOL__MAX: '300' };
  const inFile = 'pool: { max: 200, warm: 5 }';

  it('override the defaults in the order file, environment, flags', () => {
    expect(load({ file: file(inFile) }).pool.max).toBe(200);
    expect(load({ file: file(inFile), environment }).pool.max).toBe(300);
    const all = load({ file: file(inFile), environment, flags });
    expect(all.pool).toMatchObject({ max: 400, warm: 5, leaseSeconds: 30 });
  });

  it('can be an empty file, one with comments only, or JSON', () => {
    expect(load({ file: file('') })).toEqual(load());
    expect(load({ file: file('# nothing yet\n') })).toEqual(load());
    expect(load({ file: file('{"log": {"level": "debug"}}') }).log.level).toBe('debug');
  });

  it('replace a list as a whole', () => {
    expect(load({ file: file('templates: { local: { imports: [torch] } }') }).templates['local']?.imports).toEqual(['torch']);
  });
});

describe('environment variables', () => {
  it.each([
    ['MUSTER_POOL__CREATION_CONCURRENCY', '3', (config: Config) => config.pool.creationConcurrency, 3],
    [
      'MUSTER_TEMPLATES__LOCAL__LIMITS__MEMORY_BYTES',
      '512MiB',
      (config: Config) => config.templates['local']?.limits.memoryBytes,
      512 * 2 ** 20,
    ],
    ['MUSTER_TEMPLATES__LOCAL__IMPORTS', '[torch, numpy]', (config: Config) => config.templates['local']?.imports, ['torch', 'numpy']],
    [
      'MUSTER_TEMPLATES__LOCAL__ENVIRONMENT__OMP_NUM_THREADS',
      '2',
      (config: Config) => config.templates['local']?.environment,
      { OMP_NUM_THREADS: '2' },
    ],
    ['MUSTER_STATE_DIR', '/2024', (config: Config) => config.stateDir, '/2024'],
    ['MUSTER_CHECKPOINTS__MAX_BYTES', '1000', (config: Config) => config.checkpoints.maxBytes, 1000],
  ])('%s=%s is understood', (name, value, read, expected) => {
    expect(read(load({ environment: { [name]: value } }))).toEqual(expected);
  });

  it('of other programs are ignored', () => {
    expect(load({ environment: { PATH: '/bin', MUSTERED: '1', POOL__MAX: '7' } })).toEqual(load());
  });
});

describe('templates', () => {
  it('take from "local" what they leave out', () => {
    const config = load({ file: file('templates:\n  big:\n    limits: { memoryBytes: 8GiB }\n') });
    expect(config.templates['big']).toEqual({
      ...config.templates['local'],
      limits: { ...config.templates['local']?.limits, memoryBytes: 8 * 2 ** 30 },
    });
  });

  it.each([
    ['512MiB', 512 * 2 ** 20],
    ['1.5GiB', 1.5 * 2 ** 30],
    ['2 GB', 2e9],
    ['64kB', 64_000],
    [4096, 4096],
  ])('understand %s as a size', (written, bytes) => {
    const config = load({ file: file(`templates: { local: { limits: { diskBytes: ${written} } } }`) });
    expect(config.templates['local']?.limits.diskBytes).toBe(bytes);
  });
});

describe('what callers share', () => {
  it.each([
    ['auto', '/home/someone/.local/state/muster/muster.db'],
    ['~/evaluations.db', '/home/someone/evaluations.db'],
    ['/data/evaluations.db', '/data/evaluations.db'],
    ['postgresql://muster:p%40ss@db/muster', 'postgresql://muster:p%40ss@db/muster'],
  ])('is kept, with store.url %s, in %s', (url, expected) => {
    expect(load({ environment: { MUSTER_STORE__URL: url } }).store.url).toBe(expected);
  });

  it('is bounded for a principal by "default" if its own quota has no bound', () => {
    const { quotas } = load({ file: file('quotas: { default: { episodesPerDay: 7 }, sweep: { checkpointBytes: 1GiB } }') });
    expect(quotas['sweep']).toEqual({ ...quotas['default'], episodesPerDay: 7, checkpointBytes: 2 ** 30 });
  });

  it('is fetched only from public hosts over https by default', () => {
    expect(load().sources).toMatchObject({ roots: [], hosts: ['*'], networks: [], plainHttp: false, buckets: [] });
    const inFile = 'sources: { hosts: [models.example.com, "*.s3.amazonaws.com"], networks: [10.1.0.0/16, "fd00::/8"], roots: [/data] }';
    expect(load({ file: file(inFile) }).sources).toMatchObject({
      networks: ['10.1.0.0/16', 'fd00::/8'],
      roots: ['/data'],
      plainHttp: false,
    });
  });
});

describe('what is wrong is named with its source, its path and what was expected', () => {
  it.each([
    ['an unknown key', 'log: { level: info }\npool:\n  maxx: 3', ':3: pool.maxx: unknown key; did you mean "max"?'],
    ['a key in the wrong case', 'statedir: /x', ':1: statedir: unknown key; did you mean "stateDir"?'],
    ['two neighbours swapped', 'pool:\n  wram: 3', ':2: pool.wram: unknown key; did you mean "warm"?'],
    ['a key that belongs below another', 'port: 7000', ':1: port: unknown key; expected below another key: delivery.port or server.port'],
    ['a key that belongs above', 'server: { quotas: {} }', ':1: server.quotas: unknown key; expected as "quotas", not below "server"'],
    [
      'a list in place of a mapping',
      'server: { suites: [a.yaml] }',
      'server.suites: expected a mapping of names to values, got ["a.yaml"]',
    ],
    ['an invalid name', 'server: { suites: { "my suite": /a.yaml } }', 'server.suites.my suite: expected 1 to 64 letters, digits'],
    ['a key like no other', 'log: { colour: red }', ':1: log.colour: unknown key; expected one of level'],
    [
      'a slip in the scheme of the database',
      'store: { url: postgres//db/muster }',
      ':1: store.url: expected "auto", the path of a file, or postgresql://',
    ],
    ['a scheme in capitals', 'store: { url: POSTGRESQL://db/muster }', 'store.url: expected "auto", the path of a file, or postgresql://'],
    ['a wrong type', '\npool:\n  min: many', ':3: pool.min: expected a number, got "many"'],
    ['a fraction', 'pool:\n  min: 1.5', ':2: pool.min: expected a whole number, got 1.5'],
    ['too small a number', 'evaluation: { window: 0 }', ':1: evaluation.window: expected a number of 1 or more, got 0'],
    ['no member of a union', 'pool: { max: lots }', 'pool.max: expected "auto" or a whole number from 1 to 100000, got "lots"'],
    ['no choice', 'log: { level: loud }', 'log.level: expected one of "silent"|"fatal"'],
    ['no size', 'checkpoints:\n  maxBytes: 5 bananas', ':2: checkpoints.maxBytes: expected a number of bytes'],
    ['a mapping where a value goes', 'pool: { max: { of: 3 } }', 'pool.max: expected "auto"'],
    ['a value where a mapping goes', 'pool: 3', ':1: pool: expected an object with '],
    [
      'no URL',
      'sources: { s3: { endpoint: "minio:9000" } }',
      'endpoint: expected "auto" or a URL such as https://storage.internal:9000, got',
    ],
    ['null', 'pool: { min: }', 'pool.min: is empty (null); expected a number'],
    [
      'a list item',
      'templates:\n  local:\n    imports:\n      - numpy\n      - "rm -rf"',
      ':5: templates.local.imports[1]: expected the name of a Python module',
    ],
    [
      'what a list item lacks',
      'templates:\n  local:\n    mounts:\n      - source: /data',
      ':4: templates.local.mounts[0].target: is missing',
    ],
    ['the name of a template', 'templates:\n  Big: {}', 'templates.Big: expected a template name'],
    [
      'the name of a variable',
      'templates: { local: { environment: { "A-B": x } } }',
      'environment.A-B: expected the name of an environment variable, got "A-B"',
    ],
    [
      'an unknown key in a new template',
      'templates:\n  big:\n    pyton: auto',
      ':3: templates.big.pyton: unknown key; did you mean "python"?',
    ],
    ['a key that stands twice', 'pool:\n  min: 1\n  min: 2', ':3: '],
    ['no YAML', 'pool: [1', ':'],
    ['no mapping', '- pool', 'expected a mapping of settings'],
    ['a root that is relative', 'sources: { roots: [checkpoints] }', 'sources.roots[0]: expected an absolute path'],
    ['a host with its scheme', 'sources: { hosts: ["https://example.com"] }', 'sources.hosts[0]: expected a host in lower case'],
    ['a host with a star within', 'sources: { hosts: ["a.*.com"] }', 'sources.hosts[0]: expected a host in lower case'],
    ['no network', 'sources: { networks: [10.0.0.1] }', 'sources.networks[0]: expected a network such as 10.1.0.0/16'],
    [
      'no bound',
      'quotas: { default: { waitingEvaluations: many } }',
      'waitingEvaluations: expected "unlimited" or a whole number from 0 on',
    ],
    ['the name of a principal', 'quotas: { Pipeline: {} }', 'quotas.Pipeline: expected the name of a principal'],
    ['a contradiction', 'pool:\n  min: 9\n  max: 5', ':2: pool.min: expected no more than pool.max, which is 5, got 9'],
  ])('%s in a file', (_, text, expected) => {
    const path = file(text);
    expect(() => load({ file: path })).toThrow(expect.objectContaining({ kind: 'input', code: 'config.invalid' }));
    expect(() => load({ file: path })).toThrow(expected);
    expect(() => load({ file: path })).toThrow(path);
  });

  it.each([
    ['MUSTER_POOL__MAXX', '3', 'environment variable MUSTER_POOL__MAXX: there is no such setting; did you mean "MUSTER_POOL__MAX"?'],
    ['MUSTER_STATEDIR', '/x', 'environment variable MUSTER_STATEDIR: there is no such setting; did you mean "MUSTER_STATE_DIR"?'],
    ['MUSTER_POOL_MAX', '3', 'did you mean "MUSTER_POOL__MAX"?'],
    ['MUSTER_TOKENS', 'x', 'did you mean "MUSTER_TOKEN"?'],
    ['MUSTER_TEMPLATES__big__LIMIT__CPUS', '1', 'did you mean "MUSTER_TEMPLATES__big__LIMITS__CPUS"?'],
    ['MUSTER_FOO', '1', 'MUSTER_FOO: there is no such setting; config/default.yaml has all settings'],
    ['MUSTER_POOL__MAX', 'many', 'environment variable MUSTER_POOL__MAX: pool.max: expected "auto" or a whole number'],
    ['MUSTER_POOL__MIN', '', 'environment variable MUSTER_POOL__MIN is empty; give it a value, or unset it'],
    ['MUSTER_ARENA__TASKS', '/srv/tasks', 'arena.tasks: expected a list, got "/srv/tasks"; did you mean ["/srv/tasks"]?'],
    ['MUSTER_SOURCES__ROOTS', '/a, /b', 'got "/a, /b"; did you mean ["/a","/b"]?'],
    ['MUSTER_SOURCES__ROOTS', '["/a"', 'a list in brackets ends with "]"'],
    ['MUSTER_', '1', 'environment variable MUSTER_: '],
  ])('in the environment variable %s=%s', (name, value, expected) => {
    expect(() => load({ environment: { [name]: value } })).toThrow(expected);
  });

  it('in the name of an environment variable, whichever setting is meant', () => {
    const names = leafPaths(parse(readFileSync('config/default.yaml', 'utf8'))).map((path) => `MUSTER_${path.map(upperSnake).join('__')}`);
    expect(names).toContain('MUSTER_TEMPLATES__LOCAL__LIMITS__MEMORY_BYTES');
    for (const name of names)
      expect(() => load({ environment: { [`${name}Q`]: '1' } })).toThrow(
        `environment variable ${name}Q: there is no such setting; did you mean "${name}"?`,
      );
  });

  it('in a secret, which the message does not repeat', () => {
    const environment = { MUSTER_SERVER__WEBHOOK_SECRET: 'hunter2' };
    expect(() => load({ environment })).toThrow(/webhookSecret: expected nothing, or 24 characters at least$/);
    for (const [name, url] of [
      ['MUSTER_STORE__URL', 'postgres//muster:hun/ter2@db/muster'],
      ['MUSTER_ARENA__LIVE', 'redis//muster:hun/ter2@db/0'],
    ] as const)
      expect(() => load({ environment: { [name]: url } })).toThrow(/, got "\w+\/\/…@db\/\w+"$/);
  });

  it('in a flag', () => {
    const flags = [{ name: '--sandboxes', path: ['pool', 'max'], value: 0 }];
    expect(() => load({ flags })).toThrow('flag --sandboxes: pool.max: expected a number of 1 or more, got 0');
  });

  it('in a layer that a later one overrides', () => {
    expect(() => load({ file: file('pool: { max: lots }'), environment: { MUSTER_POOL__MAX: '3' } })).toThrow('pool.max');
  });

  it('all at once, one on each line', () => {
    const path = file('pool:\n  maxx: 1\n  min: x');
    const three =
      /:2: pool\.maxx: .*\n.*:3: pool\.min: .*\n.*MUSTER_LOG__LEVEL: log\.level: .*$|:3: pool\.min: .*\n.*:2: pool\.maxx: .*\n.*MUSTER_LOG__LEVEL: log\.level: .*$/;
    expect(() => load({ file: path, environment: { MUSTER_LOG__LEVEL: 'loud' } })).toThrow(three);
  });

  it('when two sources contradict, in the source of the smaller bound', () => {
    const flags = [{ name: '--sandboxes', path: ['pool', 'max'], value: 2 }];
    expect(() => load({ environment: { MUSTER_POOL__WARM: '5' }, flags })).toThrow('environment variable MUSTER_POOL__WARM: pool.warm');
  });

  it('when the file is not there', () => {
    const missing = join(directory, 'missing.yaml');
    expect(() => load({ file: missing })).toThrow(expect.objectContaining({ kind: 'input', code: 'config.unreadable' }));
    expect(() => load({ file: missing })).toThrow(`${missing}: does not exist; expected a YAML file`);
    const meant = file('pool: { max: 2 }');
    expect(() => load({ file: meant.replace(/\.yaml$/, '.yml') })).toThrow(`did you mean "${basename(meant)}"?`);
  });
});
