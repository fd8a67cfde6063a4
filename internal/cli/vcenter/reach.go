package vcenter

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/relay"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// reach lets the containers of a network reach vCenters. Its zero value lets none.
type reach struct {
	kind, network string // of flags: at most one

	detect func(context.Context) (*runtime.Runtime, error) // nil: runtime.Detect
	door   *relay.Door
	relays []*relay.Relay
	urls   atomic.Pointer[map[string]string] // by vCenter; nil until the relays are open
}

func (r *reach) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.kind, "in-kind", "", "let the nodes and pods of the kind cluster `NAME` reach the vCenters")
	f.StringVar(&r.network, "in-docker-network", "", "let the containers of this `NETWORK` of Docker, Podman or nerdctl reach the vCenters")
	for name, words := range map[string]func(context.Context, *runtime.Runtime) ([]string, error){
		"in-kind":           kind.Clusters,
		"in-docker-network": func(ctx context.Context, rt *runtime.Runtime) ([]string, error) { return rt.Networks(ctx) },
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, complete.Flag(complete.Of(func(ctx context.Context) ([]string, error) { // its only error is an unknown flag
			rt, err := r.runtime(ctx)
			if err != nil {
				return nil, err
			}
			return words(ctx, rt)
		})))
	}
}

// runtime is that of the containers.
func (r *reach) runtime(ctx context.Context) (*runtime.Runtime, error) {
	if r.detect != nil {
		return r.detect(ctx)
	}
	return runtime.Detect(ctx)
}

func (r *reach) asked() bool { return r.kind != "" || r.network != "" }

// find finds this machine's addresses in the network, for the certificates, and checks that it can be reached there.
func (r *reach) find(ctx context.Context) (names []string, err error) {
	if !r.asked() {
		return nil, nil
	}
	rt, err := r.runtime(ctx)
	if err != nil {
		return nil, report.Coded(err, report.Prerequisite, nil)
	}
	if r.kind != "" {
		r.door, err = kind.Door(ctx, rt, r.kind)
	} else {
		r.door, err = relay.Find(ctx, rt, r.network, "")
	}
	if err != nil {
		return nil, report.Coded(err, report.Prerequisite, nil)
	}
	for _, a := range r.door.Addresses() {
		names = append(names, a.String())
	}
	return names, nil
}

// open opens a relay to each vCenter, at the port that it was given to listen on, or else at a free one.
func (r *reach) open(ctx context.Context, access []api.Access, listen []string) error {
	urls := map[string]string{}
	for i := range access {
		u, err := url.Parse(access[i].URL)
		if err != nil {
			return err
		}
		var port uint64
		if i < len(listen) {
			_, text, _ := net.SplitHostPort(listen[i])
			port, _ = strconv.ParseUint(text, 10, 16) // checked
		}
		one, err := r.door.Open(ctx, u.Host, uint16(port))
		if err != nil {
			return fmt.Errorf("vcenter %q: %w", access[i].VCenter, report.Coded(err, report.Prerequisite, nil))
		}
		r.relays = append(r.relays, one)
		u.Host = one.Addr().String()
		urls[access[i].VCenter] = u.String()
	}
	r.urls.Store(&urls)
	return nil
}

// containerURL returns where containers reach a vCenter, "" if they do not.
func (r *reach) containerURL(vcenter string) string {
	if urls := r.urls.Load(); urls != nil {
		return (*urls)[vcenter]
	}
	return ""
}

// close ends all relays.
func (r *reach) close() {
	for _, one := range r.relays {
		_ = one.Close() // its listener is of no use any more
	}
}
