package up

import (
	"os"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// next returns commands to try with a sandbox that has come up. Real VMs are never broken, and the parent of a detached
// process does not know their names either.
func next(o *options) string {
	commands := []string{"get nodes", "get vms", "events -f"}
	switch worker := worker(o.topology); {
	case o.alone != nil:
		commands = []string{"govc ls", "events -f"}
	case o.real == nil && worker != "":
		commands = []string{
			"kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone", "vm power-off " + shellescape.Quote(worker), "events -f",
		}
	}
	me := command.Typed(os.Args[0]) + o.nameFlag()
	var b strings.Builder
	b.WriteByte('\n')
	if o.alone != nil {
		b.WriteString("  eval \"$(" + me + " env)\"\n")
	}
	for _, c := range commands {
		b.WriteString("  " + me + " " + c + "\n")
	}
	return b.String()
}

// worker returns the first VM that becomes a worker, or "".
func worker(t *topology.Topology) string {
	if t == nil {
		return ""
	}
	for _, n := range t.Nodes() {
		if n.VM.Role == topology.RoleWorker {
			return n.VM.Name
		}
	}
	return ""
}
