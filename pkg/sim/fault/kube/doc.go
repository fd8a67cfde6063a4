// Package kube is what goes wrong on the cluster's side: its control plane, the cloud controller manager, kubelets, the
// ways between them, and the objects that they live on: roles, tokens, Secrets, configuration, Nodes.
//
// It speaks the Kubernetes API where that can do it. What no client can ask for, killing, pausing and cutting off, is done
// to the processes of the sandbox ([fault.Ground.Processes]); a cluster that the sandbox did not start has none.
//
// What has to be remembered of a Secret or a ConfigMap stays in the cluster, in a copy of its own beside the original, and
// never gets into the journal.
//
// Floor 2.
package kube
