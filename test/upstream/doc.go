// Package upstream runs releases of the upstream vSphere cloud provider (kubernetes/cloud-provider-vsphere), unmodified,
// against the simulated vCenters and a real control plane: proof that the simulator is a vCenter to clients that were not
// written for it.
//
// The tests need the release's binary in $UPSTREAM_CPI and are skipped without it; "make upstream" builds it from its
// module and runs them. -churn sets how long the churn runs.
package upstream
