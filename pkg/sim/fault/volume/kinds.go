package volume

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// Kinds are the faults of volumes, in the order of the catalogue.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		createFails(), attachFails(), detachFails(), expandFails(), snapshotFails(), deleteFails(),
		attachSlow(), cnsSlow(),
		detached(), moved(), forgotten(),
	}
}
