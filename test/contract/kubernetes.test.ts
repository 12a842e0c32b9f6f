import nock from 'nock';
import { KubernetesContext } from '../support/kubernetes/kubernetes-context.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import { POD_FAILURES } from './pod-failures.ts';
import { shellCommands } from './sandbox-commands.ts';
import { ALL_GROUPS, sandboxProviderContract } from './sandbox-provider.ts';

// The simulated API server is a real one as far as sockets go.
nock.restore();

const { executable, mounts } = pythonInterpreter();

sandboxProviderContract(
  'the Kubernetes provider, on a simulated cluster,',
  { commands: shellCommands(executable), mounts: [], open: () => KubernetesContext.open({ mounts }), sample: ALL_GROUPS },
  POD_FAILURES,
);
