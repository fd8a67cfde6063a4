// Package installed reads how a release of a cloud controller manager is installed, from the manifest that its users apply, and
// judges it: whether its pods find a node, whether its probes ask where the program listens, whether the API server refuses
// requests of its account, and which of its rights are never used.
//
//	i, err := installed.Read("releases/v1.36/vsphere-cloud-controller-manager.yaml", text)
//	for _, f := range i.Findings() { … }
//
// The sandbox runs the program with the arguments, the environment and exactly the rights that are read here.
//
// Floor 2. It starts nothing, and asks no cluster.
package installed
