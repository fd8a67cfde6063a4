// Package known lists the names of the vSphere API: methods, faults, types of managed objects, REST operations. A rule about an
// unknown method is a spelling mistake, and must be refused.
//
// The test with -update reads the lists from govmomi's source, because its registries only report whether a name exists.
//
// Floor 2, below pkg/sim/gate. Standard library only.
package known

import (
	_ "embed"
	"strings"
)

var (
	//go:embed methods.txt
	methods string
	//go:embed faults.txt
	faults string
	//go:embed objects.txt
	objects string
	//go:embed operations.txt
	operations string
)

// taskMark marks a method that returns a Task without the suffix _Task.
const taskMark = " task"

// Methods returns the SOAP methods of vim25, PBM, CNS and VSLM, sorted.
func Methods() []string {
	return strings.Fields(strings.ReplaceAll(methods, taskMark, ""))
}

// Tasks returns the SOAP methods that return a Task and do not have the suffix _Task, sorted.
func Tasks() []string {
	var found []string
	for line := range strings.Lines(methods) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), taskMark); ok {
			found = append(found, name)
		}
	}
	return found
}

// Faults returns the fault types by their names in vim25/types, sorted.
func Faults() []string { return strings.Fields(faults) }

// Objects returns the types of managed objects, sorted.
func Objects() []string { return strings.Fields(objects) }

// Operations returns the REST operations that clients of the simulated vCenters use, named as by the gate. The list is maintained
// by hand, because no registry exists.
func Operations() []string {
	var found []string
	for line := range strings.Lines(operations) {
		if line = strings.TrimSpace(line); line != "" {
			found = append(found, line)
		}
	}
	return found
}
