// Package clusterapi has a test that runs Cluster API and its provider for vSphere, unmodified, against the simulated vCenters and the
// cluster of a sandbox: docs/cluster-api.md says how, and what it does not show. The folder manager is a separate module, because
// it depends on other releases of Kubernetes and govmomi than the project.
//
// It needs the programs of hack/clusterapi: "make cluster-api" builds them and runs it.
package clusterapi
