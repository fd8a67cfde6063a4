package status

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func print(w io.Writer, format string, now time.Time, s api.Status) error {
	switch format {
	case output.JSON, output.YAML:
		return output.Object(w, format, "Status", s)
	case output.Names:
		_, err := fmt.Fprintln(w, "sandbox/"+s.Name)
		return err
	}
	var b strings.Builder
	field := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-14s%s\n", name+":", printable.Line(fmt.Sprintf(format, args...)))
	}
	field("Name", "%s", s.Name)
	field("Phase", "%s", phase(s))
	field("Age", "%s", output.Age(now, s.StartedAt))
	field("Scenario", "%s", s.Scenario)
	field("Speed", "%g", s.Speed)
	if g := ground(s.Ground); g != "" {
		field("Ground", "%s", g)
	}
	if s.Server == "" && s.Phase == api.Ready {
		field("Kubernetes", "none: vCenters only")
	} else {
		field("Kubernetes", "%s at %s, context %s", s.KubernetesVersion, s.Server, s.Context)
		field("Nodes", "%d wanted, %d registered, %d initialized, %d ready",
			s.Nodes.Wanted, s.Nodes.Registered, s.Nodes.Initialized, s.Nodes.Ready)
	}
	field("Directory", "%s", s.Dir)
	if format == output.Wide {
		field("Kubeconfig", "%s", s.Kubeconfig)
		field("Process", "%d, %s", s.PID, s.Version)
	}
	flags := output.Flags{Format: format}
	if len(s.VCenters) > 0 {
		b.WriteByte('\n')
		if err := output.List(&b, flags, tables.VCenters(), s.VCenters); err != nil {
			return err
		}
	}
	if len(s.Components) > 0 {
		b.WriteByte('\n')
		if err := output.List(&b, flags, tables.Components(now), s.Components); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ended is what is known of a sandbox that does not run.
type ended struct {
	Name      string         `json:"name"`
	Phase     string         `json:"phase"`
	Scenario  string         `json:"scenario,omitempty"`
	StartedAt time.Time      `json:"startedAt,omitzero"`
	Dir       string         `json:"dir"`
	Crash     *command.Crash `json:"crash,omitempty"`
}

func printEnded(w io.Writer, format string, now time.Time, s command.Sandbox) error {
	switch format {
	case output.JSON, output.YAML:
		return output.Object(w, format, "Status", ended{s.Name, s.State(), s.Scenario, s.StartedAt, s.Dir, s.Crash})
	case output.Names:
		_, err := fmt.Fprintln(w, "sandbox/"+s.Name)
		return err
	}
	var b strings.Builder
	field := func(name, value string) { fmt.Fprintf(&b, "%-14s%s\n", name+":", value) }
	field("Name", s.Name)
	field("Phase", s.State())
	if !s.StartedAt.IsZero() {
		field("Started", output.Age(now, s.StartedAt)+" ago")
	}
	field("Scenario", s.Scenario)
	field("Directory", s.Dir)
	if s.Crash != nil {
		field("Ended by", strings.ReplaceAll(s.Crash.Words(), "\n", "\n"+strings.Repeat(" ", 10)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func phase(s api.Status) string {
	switch {
	case s.Step != "":
		return fmt.Sprintf("%s: %s", s.Phase, s.Step)
	case s.Phase == api.Ready && s.ReadyAt != nil:
		return fmt.Sprintf("%s, after %.1fs", s.Phase, s.ReadyAt.Sub(s.StartedAt).Seconds())
	}
	return string(s.Phase)
}
