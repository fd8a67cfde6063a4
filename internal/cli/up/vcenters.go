package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/env"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// VCenters is a sandbox of vCenters alone, for "vcenter up".
type VCenters struct {
	Topology *topology.Topology
	// Addresses and Login are as in sandbox.Options.
	Addresses []string
	Login     *url.Userinfo
	Speed     float64
	// Detach runs it in the background; Args are those that do the same in the foreground. Detached says that this process
	// is that one.
	Detach   bool
	Detached bool
	Args     []string
	// Environ is added to the environment of the process in the background.
	Environ []string
	// Env, when not nil, gets the variables in place of standard output.
	Env    io.Writer
	Format string
}

// RunVCenters boots vCenters alone and runs them until it is told to end, as "up" does with a whole sandbox.
func RunVCenters(ctx context.Context, d *command.Deps, v VCenters) error {
	o := &options{
		Deps: d, topology: v.Topology, speed: v.Speed, format: v.Format, detach: v.Detach, detached: v.Detached, alone: &v,
	}
	if err := o.completeName(); err != nil {
		return err
	}
	if err := pace.Speed(o.speed).Validate(); err != nil {
		return err
	}
	return start(ctx, o)
}

// announceVCenters prints how to reach the vCenters: commands for a shell, or data.
func announceVCenters(o *options, s *sandbox.Sandbox) error {
	access, err := s.Access()
	if err != nil {
		return err
	}
	if o.format == output.JSON || o.format == output.YAML {
		return output.Object(o.Streams.Out, o.format, "Access", map[string]any{"vcenters": access})
	}
	var b strings.Builder
	b.WriteString(env.Lines(o.Getenv("SHELL"), env.Govc(access[0], s.Datacenters())))
	var others []string
	for _, a := range access[1:] {
		others = append(others, a.VCenter)
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, "# govc talks to vCenter %s; vsphere-sandbox env --vcenter chooses another: %s\n", access[0].VCenter, strings.Join(others, ", "))
	}
	out := o.Streams.Out
	if o.alone.Env != nil {
		out = o.alone.Env
	}
	_, err = io.WriteString(out, b.String())
	if c, ok := o.alone.Env.(io.Closer); ok {
		err = errors.Join(err, c.Close()) // whoever reads a pipe waits for its end
	}
	return err
}
