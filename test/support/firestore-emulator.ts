import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dependent } from '../../scripts/dependent-process.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';

/** The path in Google's package of the emulator. */
const JAR = '/usr/lib/google-cloud-sdk/platform/cloud-firestore-emulator/cloud-firestore-emulator.jar';
const MAIN = 'com.google.cloud.datastore.emulator.firestore.CloudFirestore';
/** The emulator runs for some seconds only. A virtual machine that optimises little and has a simple collector starts sooner. */
const FLAGS = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xmx512m', '-Duser.language=en'];

/** Explains why Google's emulator cannot be used here; returns undefined where it can. */
export function explainMissingFirestore(): string | undefined {
  if (process.env['FIRESTORE_EMULATOR_HOST'] !== undefined) return undefined;
  if (!existsSync(JAR))
    return 'Firestore’s emulator is missing: install google-cloud-cli-firestore-emulator, or set FIRESTORE_EMULATOR_HOST';
  return existsSync('/usr/bin/java') ? undefined : 'Firestore’s emulator needs java';
}

/** Google's emulator of Firestore; the one that FIRESTORE_EMULATOR_HOST names, where it is set. */
export class FirestoreEmulator implements AsyncDisposable {
  readonly host: string;
  readonly #process: ChildProcess | undefined;

  private constructor(host: string, process: ChildProcess | undefined) {
    this.host = host;
    this.#process = process;
  }

  static async start(): Promise<FirestoreEmulator> {
    const given = process.env['FIRESTORE_EMULATOR_HOST'];
    if (given !== undefined) return new FirestoreEmulator(given, undefined);
    const port = await freePort();
    const java = spawn(...dependent('/usr/bin/java', [...FLAGS, '-cp', JAR, MAIN, '--host=127.0.0.1', `--port=${port}`]), {
      stdio: 'ignore',
    });
    const emulator = new FirestoreEmulator(`127.0.0.1:${port}`, java);
    await eventually('the emulator answers', async () => {
      if (java.exitCode !== null) throw new Error(`the emulator ended with code ${java.exitCode}`);
      return await fetch(`http://${emulator.host}/`).then(
        (answer) => answer.ok,
        () => false,
      );
    });
    return emulator;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process === undefined || this.#process.exitCode !== null) return;
    const exit = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exit;
  }
}
