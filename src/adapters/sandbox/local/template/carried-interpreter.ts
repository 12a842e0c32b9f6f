import { z } from 'zod';
import { InfrastructureError } from '../../../../kernel/errors.ts';
import { askPython } from './python-environment.ts';
import { tryParseJson } from '../../../../kernel/json-bounds.ts';

/** Files of the host by which a Python can be started in any root file system. All paths are absolute, none goes through a link. */
export interface CarriedInterpreter {
  /** The dynamic linker, which is started with the interpreter as its argument. */
  readonly loader: string;
  /** The libraries of the interpreter and of the modules that it needs. */
  readonly libraries: readonly string[];
  readonly executable: string;
  /** The directory of its own modules. */
  readonly standardLibrary: string;
}

/**
 * Imports everything that the program in workspaces imports, then reports the mapped files. The program is compiled where its directory is writable:
 * otherwise every sandbox would compile it at its start.
 */
const QUESTIONS = `
import compileall, json, os, sys, sysconfig
if os.access(sys.argv[1], os.W_OK): compileall.compile_dir(os.path.join(sys.argv[1], "muster_workspace"), quiet=2)
sys.path.insert(0, sys.argv[1])
import muster_workspace.command_line
standard = os.path.realpath(sysconfig.get_path("stdlib"))
executable = os.path.realpath(sys.executable)
with open("/proc/self/maps") as maps:
    files = sorted({line.split(maxsplit=5)[5].strip() for line in maps if len(line.split(maxsplit=5)) == 6})
shared = [file for file in files if file.startswith("/") and ".so" in os.path.basename(file) and not file.startswith(standard + "/")]
loaders = [file for file in shared if os.path.basename(file).startswith("ld-")]
libraries = [file for file in shared if file not in loaders]
print(json.dumps({"executable": executable, "standardLibrary": standard, "loaders": loaders, "libraries": libraries}))
`;

const path = z.string().startsWith('/');
const answerSchema = z.object({
  executable: path,
  standardLibrary: path,
  loaders: z.array(path).length(1),
  libraries: z.array(path).max(64),
});

/**
 * @param runner directory of Muster's own Python programs.
 * @throws InfrastructureError `python.unusable`.
 */
export async function findCarriedInterpreter(python: string, runner: string, signal: AbortSignal): Promise<CarriedInterpreter> {
  const output = await askPython(python, ['-I', '-S', '-B', '-c', QUESTIONS, runner], signal);
  const answer = answerSchema.safeParse(tryParseJson(output));
  const [loader] = answer.data?.loaders ?? [];
  if (!answer.success || loader === undefined) {
    const detail = `it said ${JSON.stringify(output.slice(0, 300))} of its libraries; expected one dynamic linker`;
    throw new InfrastructureError(
      'python.unusable',
      `Python at ${python} cannot be used in another root file system: ${detail}; run npm run setup`,
    );
  }
  const { executable, standardLibrary, libraries } = answer.data;
  return { loader, libraries, executable, standardLibrary };
}
