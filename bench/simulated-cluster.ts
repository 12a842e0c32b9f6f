import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { KubernetesSimulator } from '../test/support/kubernetes/kubernetes-simulator.ts';
import { IMAGE } from '../test/support/kubernetes/kubernetes-context.ts';
import { PaperNode } from '../test/support/kubernetes/paper-node.ts';

/** A simulated cluster in a process of its own, whose pods only answer: `simulated-cluster.ts DIRECTORY`, controlled by its parent. */
const [directory = ''] = process.argv.slice(2);
if (!process.send) throw new Error('started by idle-pods.ts only');
const simulator = await KubernetesSimulator.start({ node: new PaperNode(), images: new Map([[IMAGE, { mounts: [] }]]) });
const kubeconfig = path.join(directory, 'kubeconfig');
writeFileSync(kubeconfig, simulator.kubeconfig());
process.send({ kubeconfig });
process.on('message', () => process.send?.({ requests: Object.fromEntries(simulator.requests), pods: simulator.podNames().length }));
process.once('disconnect', () => process.exit());
