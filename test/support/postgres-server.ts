import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chown, glob, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { dependent } from '../../scripts/dependent-process.ts';

/** A PostgreSQL of the tests' own in a temporary directory, on a Unix socket there. It ends with its test, also when that is killed. */
export class PostgresServer implements AsyncDisposable {
  readonly #directory: string;
  readonly #process: ChildProcess;
  #databases = 0;

  private constructor(directory: string, process: ChildProcess) {
    this.#directory = directory;
    this.#process = process;
  }

  static async start(): Promise<PostgresServer> {
    const programs = await programsDirectory();
    const directory = await mkdtemp(path.join(tmpdir(), 'muster-postgres-'));
    const user = unprivileged();
    if (user) await chown(directory, user.uid, user.gid);
    const data = path.join(directory, 'data');
    const made = spawnSync(
      ...as(user, path.join(programs, 'initdb'), '-D', data, '-U', 'muster', '--auth=trust', '--no-sync', '--encoding=UTF8'),
      {
        encoding: 'utf8',
        cwd: directory,
      },
    );
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
    // The user "guarded" needs a password.
    await writeFile(path.join(data, 'pg_hba.conf'), 'local all guarded scram-sha-256\nlocal all all trust\n');
    const settings = ['-F', '-c', 'listen_addresses=', '-c', `unix_socket_directories=${directory}`, '-c', 'lc_messages=C'];
    const server = spawn(...as(user, path.join(programs, 'postgres'), '-D', data, ...settings), {
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: directory,
    });
    const said: string[] = [];
    const lines = createInterface({ input: server.stderr });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    lines.on('line', (line) => {
      said.push(line);
      if (line.includes('ready to accept connections')) resolve();
    });
    server.once('exit', () => reject(new Error(`PostgreSQL did not start: ${said.join('\n')}`)));
    await promise;
    return new PostgresServer(directory, server);
  }

  /** @returns the URL of a new database: empty, or a copy of the one that is named. */
  async newDatabase(template?: string): Promise<string> {
    this.#databases += 1;
    const name = `test_${this.#databases}`;
    await this.execute(`CREATE DATABASE ${name}${template === undefined ? '' : ` TEMPLATE ${template}`}`);
    return this.url(name);
  }

  /** Makes what `prepare` does to a new database the content of each copy of it. @returns its name. */
  async makeTemplate(prepare: (url: string) => Promise<void>): Promise<string> {
    const url = await this.newDatabase();
    await prepare(url);
    return new URL(url).pathname.slice(1);
  }

  /** @param user with its password, encoded, where it has one. */
  url(database: string, user = 'muster'): string {
    return `postgresql://${user}@localhost/${database}?host=${encodeURIComponent(this.#directory)}`;
  }

  async execute(statement: string, database = 'postgres'): Promise<void> {
    const client = new Client({ connectionString: this.url(database) });
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exit = once(this.#process, 'exit');
    // Ends connections, then itself.
    this.#process.kill('SIGINT');
    await exit;
    await rm(this.#directory, { recursive: true });
  }
}

async function programsDirectory(): Promise<string> {
  const found = await Array.fromAsync(glob(['/usr/lib/postgresql/*/bin/initdb', '/usr/bin/initdb', '/usr/local/bin/initdb']));
  const latest = found.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
  if (latest === undefined) throw new Error('PostgreSQL is missing: "node scripts/setup.mjs --test" installs it');
  return path.dirname(latest);
}

/** PostgreSQL refuses to run as root. */
function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}

/** The command as that user; it gets a signal to end when this process ends. */
function as(user: ReturnType<typeof unprivileged>, command: string, ...args: string[]): [string, string[]] {
  const identity = user ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : [];
  return dependent('setpriv', [...identity, command, ...args], 'INT');
}
