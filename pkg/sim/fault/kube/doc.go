// Package kube has the faults of the cluster: its control plane, the cloud controller manager, kubelets, the network between
// them, and the objects that they need: roles, tokens, Secrets, configuration, Nodes.
//
// It uses the Kubernetes API where possible. It kills, pauses and isolates processes of the sandbox ([fault.Ground.Processes]); a
// cluster that the sandbox did not start has no such processes.
//
// The contents of a changed Secret or ConfigMap stay in the cluster, in a copy beside the original, and never reach the journal.
//
// Floor 2.
package kube
