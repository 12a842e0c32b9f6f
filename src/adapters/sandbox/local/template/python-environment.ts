import { execFile, type ExecFileException } from 'node:child_process';
import { z } from 'zod';
import { InfrastructureError } from '../../../../kernel/errors.ts';

/** Importing a large library from a cold disk takes tens of seconds. */
const TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;

/**
 * The report goes to a copy of the standard output, because an imported module may print. The syntax is that of old Pythons, so
 * that an interpreter that is too old can report its version.
 */
const QUESTIONS = `
import importlib, json, os, sys
report_to = os.dup(1)
os.dup2(2, 1)
modules = {}
for name in sys.argv[1:]:
    try:
        module = importlib.import_module(name)
        version = getattr(module, "__version__", None)
        modules[name] = {"state": "imported", "file": getattr(module, "__file__", None), "version": version and str(version)}
    except BaseException as error:
        modules[name] = {"state": "failed", "detail": ("%s: %s" % (type(error).__name__, error))[:1000]}
report = {"executable": sys.executable, "version": sys.version_info[:3], "prefix": sys.prefix, "basePrefix": sys.base_prefix, "modules": modules}
os.write(report_to, json.dumps(report).encode())
`;

const reportSchema = z.object({
  /** The interpreter's own path; in a virtual environment, the path by which it recognises that environment. */
  executable: z.string().min(1),
  /** Major, minor, patch. */
  version: z.tuple([z.int(), z.int(), z.int()]),
  prefix: z.string().min(1),
  basePrefix: z.string().min(1),
  modules: z.record(
    z.string(),
    z.discriminatedUnion('state', [
      /** The file is null for what is built in. */
      z.object({ state: z.literal('imported'), version: z.string().nullable(), file: z.string().nullable() }),
      z.object({ state: z.literal('failed'), detail: z.string() }),
    ]),
  ),
});

/** What an interpreter reports about itself. */
export type PythonEnvironment = z.infer<typeof reportSchema>;

/**
 * Starts the interpreter, as the sandboxes do (`-I`), and has it import the modules.
 *
 * @throws InfrastructureError `python.unusable` when there is no valid answer, `python.no-answer` when there is none in time.
 */
export async function inspectPython(python: string, modules: readonly string[], signal: AbortSignal): Promise<PythonEnvironment> {
  const output = await askPython(python, ['-I', '-B', '-c', QUESTIONS, ...modules], signal);
  try {
    return reportSchema.parse(JSON.parse(output));
  } catch (error) {
    throw createUnusableError(python, `it answered ${JSON.stringify(output.slice(0, 200))}`, error);
  }
}

/** Returns the interpreter's output. @throws InfrastructureError `python.unusable`, or `python.no-answer` when it takes too long. */
export function askPython(python: string, argv: readonly string[], signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/nonexistent', LANG: 'C.UTF-8', OMP_NUM_THREADS: '1' };
  const limits = { timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES, killSignal: 'SIGKILL' } as const;
  execFile(python, [...argv], { ...limits, signal, env: environment, cwd: '/' }, (error, stdout, stderr) => {
    if (error === null) resolve(stdout);
    else if (signal.aborted) reject(signal.reason);
    else
      reject(
        createUnusableError(
          python,
          error.killed === true ? `no answer in ${TIMEOUT_MS / 1000} s` : getLastLine(stderr) || describeEnd(error),
          error,
          error.killed === true ? 'python.no-answer' : 'python.unusable',
        ),
      );
  });
  return promise;
}

/** The message of the error would repeat the whole command, and with it the program above. */
function describeEnd({ code, signal, message }: ExecFileException): string {
  if (typeof code === 'number') return `it ended with code ${code} and said nothing`;
  return signal ? `it was ended by ${signal}` : message;
}

function getLastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 500) ?? '';
}

function createUnusableError(python: string, detail: string, cause: unknown, code = 'python.unusable'): InfrastructureError {
  return new InfrastructureError(
    code,
    `Python at ${python} does not work: ${detail}; repair it, or set python in the template to another one`,
    { cause },
  );
}
