import nock from 'nock';
import { CloudBuildContext } from '../support/cloud-build/cloud-build-context.ts';
import { explainMissingSteps } from '../support/cloud-build/step-container.ts';
import { isFullForm } from '../support/full-form.ts';
import { outOfTheWay } from '../support/kubernetes/dial-back-image.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import { limitFailures, MEMORY_BOMB, PROCESSOR_TIME, TREE_MEMORY, USAGE } from './limit-failures.ts';
import { shellCommands } from './sandbox-commands.ts';
import { sandboxProviderContract } from './sandbox-provider.ts';

// The simulated API server is a real one as far as sockets go.
nock.restore();

const { executable, mounts } = pythonInterpreter();
const image = outOfTheWay();

sandboxProviderContract(
  'the Cloud Build provider, on a simulated service,',
  {
    commands: shellCommands(executable),
    mounts: [],
    open: async () => CloudBuildContext.open(await image, mounts),
  },
  {
    ...limitFailures('a build’s machine has its memory and its processors to itself', MEMORY_BOMB, TREE_MEMORY, PROCESSOR_TIME),
    ...limitFailures('no call asks for it', USAGE),
  },
  explainMissingSteps() ?? (isFullForm ? undefined : 'in the full form only'),
);
