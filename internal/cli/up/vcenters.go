package up

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/env"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/limits"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// VCenters is a sandbox of vCenters alone, for "vcenter up".
type VCenters struct {
	Topology *topology.Topology
	// Saved are inventories to load, as in sandbox.Options.
	Saved []*sim.Saved
	// Addresses and Login are as in sandbox.Options.
	Addresses []string
	Login     *url.Userinfo
	// Names are as in sandbox.Options.
	Names []string
	Speed float64
	// Detach runs it in the background; Args are those that do the same in the foreground. Detached says that this process
	// is that one.
	Detach   bool
	Detached bool
	Args     []string
	// Environ is added to the variables of the process in the background, those that hold secrets not in its environment.
	Environ []string
	// Env, when not nil, gets the commands that set the variables, in place of standard output. They have the only copy of the
	// password, so its error ends the sandbox. It returns when ctx is done.
	Env func(ctx context.Context, lines string) error
	// Reach, when not nil, lets others reach the vCenters once they run. Its error ends the sandbox.
	Reach func(ctx context.Context, access []api.Access) error
	// ContainerURL is as in sandbox.Options.
	ContainerURL func(vcenter string) string
	Format       string
	// Vcsim holds what flags of vcsim set, as in sandbox.Options.
	Vcsim sim.Vcsim
	// Limits are the flags about the machine, checked.
	Limits limits.Flags
}

// RunVCenters boots only vCenters and runs them until it is stopped, as "up" does with a whole sandbox.
func RunVCenters(ctx context.Context, d *command.Deps, v VCenters) error {
	o := &options{
		Deps: d, topology: v.Topology, speed: v.Speed, format: v.Format, detach: v.Detach, detached: v.Detached, alone: &v,
		csi: csi.Flags{Driver: csi.Off}, limits: v.Limits,
	}
	if err := o.completeName(); err != nil {
		return err
	}
	if err := pace.Speed(o.speed).Validate(); err != nil {
		return report.UsageError("--speed 10", "--speed: %v", err)
	}
	return start(ctx, o)
}

// announceVCenters prints how to reach the vCenters: commands for a shell, and what else was requested.
func announceVCenters(ctx context.Context, o *options, s *sandbox.Sandbox) error {
	access, err := s.Access()
	if err != nil {
		return err
	}
	if o.alone.Reach != nil {
		if err := o.alone.Reach(ctx, access); err != nil {
			return &uselessError{err}
		}
		if access, err = s.Access(); err != nil { // with the URLs for containers
			return err
		}
	}
	lines := o.environment(access, s.Datacenters())
	if o.alone.Env != nil {
		if err := o.alone.Env(ctx, lines); err != nil {
			return &uselessError{err}
		}
	}
	switch {
	case o.format == output.JSON || o.format == output.YAML:
		return output.Object(o.Streams.Out, o.format, "Access", map[string]any{"vcenters": access})
	case o.format == output.Names:
		lines = ""
		for _, a := range access {
			lines += "vcenter/" + a.VCenter + "\n"
		}
	case o.alone.Env != nil:
		return nil
	}
	_, err = io.WriteString(o.Streams.Out, lines)
	return err
}

// holds says how much there is of what. Without a cluster there are no nodes.
func (o *options) holds() string {
	if o.alone != nil {
		return o.topology.Count().Inventory()
	}
	if o.ground.Watches { // whose nodes are not counted here
		return o.topology.Count().Inventory() + ", the nodes of " + o.where()
	}
	return o.topology.Count().String()
}

// uselessError ends a sandbox that its clients cannot use: the credentials could not be printed, or it cannot be reached.
type uselessError struct{ error }

func (e *uselessError) Unwrap() error { return e.error }

// environment is the commands that point govc at the first vCenter.
func (o *options) environment(access []api.Access, datacenters []api.Datacenter) string {
	lines := env.Lines(o.Getenv("SHELL"), env.Govc(access[0], datacenters))
	var others []string
	for _, a := range access[1:] {
		others = append(others, a.VCenter)
	}
	if len(others) > 0 {
		lines += fmt.Sprintf("# govc talks to vCenter %s; %s%s env --vcenter chooses another: %s\n",
			access[0].VCenter, command.Program, o.nameFlag(), strings.Join(others, ", "))
	}
	var containers strings.Builder
	for _, a := range access {
		if a.ContainerURL != "" {
			fmt.Fprintf(&containers, "# containers reach vCenter %s at %s, and verify it with %s\n", a.VCenter, a.ContainerURL, a.CAFile)
		}
	}
	return lines + containers.String()
}
