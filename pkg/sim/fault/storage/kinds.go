package storage

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"

// Kinds are the faults of storage, in the order of the catalogue.
func Kinds() []*fault.Kind {
	return []*fault.Kind{
		inaccessible(), removedFromHost(), full(),
		attachRefused(), detached(), leftOnDeadVM(),
		slowTasks(),
	}
}
