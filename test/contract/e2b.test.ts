import { E2bGround } from '../support/e2b/e2b-ground.ts';
import { useRealSockets } from '../support/e2b/real-sockets.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import { shellCommands } from './sandbox-commands.ts';
import { sandboxProviderContract } from './sandbox-provider.ts';

const { executable, mounts } = pythonInterpreter();
useRealSockets();

const BY_TEMPLATE = 'a sandbox is as large as its E2B template was built';
const NO_MOUNTS = "E2B's sandboxes see nothing of this machine";

sandboxProviderContract(
  'the E2B provider',
  { commands: shellCommands(executable), mounts: [], open: () => E2bGround.open(mounts) },
  {
    'bytes of every value pass unchanged both ways': 'the SDK hands output over as text: what is no UTF-8 is replaced',
    'what the template mounts in /tmp is there, and cannot be written': NO_MOUNTS,
    'a fork bomb is bounded, and the host unaffected': BY_TEMPLATE,
    'the template’s number of processes is what the program gets': BY_TEMPLATE,
    'a memory bomb is ended as out of memory, and the host unaffected': 'nobody says what ended a program',
    'the memory of the whole tree counts': BY_TEMPLATE,
    'a disk bomb is bounded, and the host unaffected': BY_TEMPLATE,
    'the processor time of the whole tree is limited': BY_TEMPLATE,
    'what a sandbox has used is told, while it runs and after its end': 'E2B samples a sandbox now and then, and not after its end',
  },
);
