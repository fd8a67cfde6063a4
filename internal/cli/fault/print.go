package fault

import (
	"fmt"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// printLease tells of a lease that was made, or of the plan for one: a line, and one for each target.
func printLease(streams *iostreams.Streams, l api.Lease, plan bool) error {
	var b strings.Builder
	switch {
	case plan:
		fmt.Fprintf(&b, "%s would be injected, with seed %d; nothing was done\n", l.Fault, l.Seed)
	case l.State == "healed":
		fmt.Fprintf(&b, "%s: %s happened\n", l.ID, l.Fault)
	default:
		fmt.Fprintf(&b, "%s: %s injected%s\n", l.ID, l.Fault, until(l))
	}
	for _, t := range l.Targets {
		fmt.Fprintf(&b, "  %s %s: %s\n", t.Kind, tables.LeaseTarget(t), t.Does)
	}
	if _, err := fmt.Fprint(streams.Out, printable.Lines(b.String())); err != nil {
		return err
	}
	if !plan && l.State != "healed" {
		fmt.Fprintf(streams.Err, "heal it with: %s fault heal %s\n", command.Program, l.ID)
	}
	return nil
}

// until is how long it lasts.
func until(l api.Lease) string {
	if l.Until == nil {
		return ""
	}
	return " for " + l.Until.Sub(l.Since).Round(time.Millisecond).String()
}
