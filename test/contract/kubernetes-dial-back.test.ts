import nock from 'nock';
import { outOfTheWay } from '../support/kubernetes/dial-back-image.ts';
import { KubernetesContext } from '../support/kubernetes/kubernetes-context.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';
import { POD_FAILURES } from './pod-failures.ts';
import { shellCommands } from './sandbox-commands.ts';
import { sandboxProviderContract } from './sandbox-provider.ts';

// The simulated API server is a real one as far as sockets go.
nock.restore();

const { executable, mounts } = pythonInterpreter();

/** Found out once: the image is the same for all. */
const image = outOfTheWay();

sandboxProviderContract(
  'the Kubernetes provider whose pods dial back, on a simulated cluster,',
  {
    commands: shellCommands(executable),
    mounts: [],
    open: async () => {
      const { image: layers, transport } = await image;
      const targets = new Set(layers.mounts.map(({ target }) => target));
      const both = [...layers.mounts, ...mounts.filter(({ target }) => !targets.has(target))];
      return await KubernetesContext.open({ mounts: both }, {}, undefined, transport);
    },
    // Pods that dial back are heard in another way. Their walls are those of the other pods.
    sample: ['streams', 'uploads', 'leaving'],
  },
  POD_FAILURES,
);
