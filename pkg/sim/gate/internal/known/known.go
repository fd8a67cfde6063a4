// Package known lists the names that the vSphere API has: methods, faults, types of managed objects, REST operations. A
// rule about a method that nobody ever calls is a spelling mistake, and is better refused than never hit.
//
// The lists are read off govmomi's source by the test with -update, since its registries tell whether a name exists but
// not which do.
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

// taskMark follows a method that answers with a Task without saying so in its name.
const taskMark = " task"

// Methods returns the SOAP methods of vim25, PBM, CNS and VSLM, sorted.
func Methods() []string {
	return strings.Fields(strings.ReplaceAll(methods, taskMark, ""))
}

// Tasks returns the SOAP methods that answer with a Task and whose names do not end in _Task, sorted.
func Tasks() []string {
	var found []string
	for line := range strings.Lines(methods) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), taskMark); ok {
			found = append(found, name)
		}
	}
	return found
}

// Faults returns the fault types, under the names that they are registered with in vim25/types, sorted.
func Faults() []string { return strings.Fields(faults) }

// Objects returns the types of managed objects, sorted.
func Objects() []string { return strings.Fields(objects) }

// Operations returns the REST operations that clients of the simulated vCenters use, named as the gate names calls. They
// are kept by hand: there is no registry of them.
func Operations() []string {
	var found []string
	for line := range strings.Lines(operations) {
		if line = strings.TrimSpace(line); line != "" {
			found = append(found, line)
		}
	}
	return found
}
