package status

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// problems tells what keeps a sandbox from good health. The components of nodes are left to the count of nodes: one
// whose VM is off is rightly stopped.
func problems(s api.Status) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if s.Phase != api.Ready {
		step := ""
		if s.Step != "" {
			step = " (" + s.Step + ")"
		}
		add("the sandbox is %s%s", s.Phase, step)
	}
	for _, v := range s.VCenters {
		switch {
		case v.Gate != "up":
			add("vcenter %s is %s", v.Name, tables.Gate(v))
		case !v.Watched && s.Phase == api.Ready:
			add("what is known of vcenter %s is out of date", v.Name)
		}
	}
	for _, c := range s.Components {
		if c.State != "running" && !strings.HasPrefix(c.Name, "node/") {
			add("%s is %s", c.Name, c.State)
		}
	}
	n := s.Nodes
	for _, count := range []struct {
		have int
		what string
	}{{n.Registered, "registered"}, {n.Initialized, "initialized"}, {n.Ready, "ready"}} {
		if count.have < n.Wanted {
			add("%d of %d nodes %s not %s", n.Wanted-count.have, n.Wanted, isAre(n.Wanted-count.have), count.what)
			break // what is not registered is not ready either
		}
	}
	return list
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
