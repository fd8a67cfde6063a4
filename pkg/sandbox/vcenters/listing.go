package vcenters

import (
	"context"
	"net/http"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// Listing answers the requests of the control API that list what is in the vCenters. Its methods may be called from any
// goroutine.
type Listing struct {
	// World is nil and VCenters is empty as long as the inventories are not watched.
	World    func() *world.World
	VCenters func() List
	Tags     *Tags
	Nodes    func() []api.Node
	Volumes  func() []api.Volume
	// CAFile is the file with the certificate that verifies the vCenters.
	CAFile func() string
	// ContainerURL returns where containers reach a vCenter, "" if they do not. It may be nil.
	ContainerURL func(vcenter string) string
}

func (l *Listing) containerURL(vcenter string) string {
	if l.ContainerURL == nil {
		return ""
	}
	return l.ContainerURL(vcenter)
}

// Register adds the handlers of the control API.
func (l *Listing) Register(mux *http.ServeMux) {
	mux.Handle("GET /v1/vcenters", control.Answer(func(context.Context) ([]api.VCenter, error) { return l.Rows(), nil }))
	mux.Handle("GET /v1/access", control.Answer(func(context.Context) ([]api.Access, error) { return l.Access() }))
	mux.Handle("GET /v1/calls", control.Answer(l.calls))
	for path, rows := range map[string]func(*world.World) any{
		"datacenters": func(w *world.World) any { return w.Datacenters() },
		"hosts":       func(w *world.World) any { return w.Hosts() },
		"vms":         func(w *world.World) any { return vmRows(w) },
		"nodes":       func(*world.World) any { return l.Nodes() },
		"zones":       func(w *world.World) any { return w.Zones() },
		"datastores":  func(*world.World) any { return l.VCenters().Datastores() },
		"volumes":     func(*world.World) any { return l.Volumes() },
	} {
		mux.Handle("GET /v1/"+path, control.Answer(func(ctx context.Context) (any, error) {
			w := l.World()
			if w == nil {
				return nil, api.NotBuilt()
			}
			l.Tags.Refresh(ctx)
			return rows(w), nil
		}))
	}
}

func vmRows(w *world.World) []api.VM {
	rows := []api.VM{}
	for _, v := range w.VMs() {
		rows = append(rows, v.VM)
	}
	return rows
}

// Rows describes the vCenters in topology order.
func (l *Listing) Rows() []api.VCenter {
	rows := []api.VCenter{}
	for _, vc := range l.VCenters() {
		row := vc.Row()
		row.ContainerURL = l.containerURL(vc.Name())
		rows = append(rows, row)
	}
	return rows
}

// Access returns how to log in to each vCenter.
func (l *Listing) Access() ([]api.Access, error) {
	if l.World() == nil {
		return nil, api.NotBuilt()
	}
	rows := []api.Access{}
	for _, vc := range l.VCenters() {
		rows = append(rows, api.Access{
			VCenter: vc.Name(), URL: vc.URL().String(), User: vc.User(), Password: vc.Password(), CAFile: l.CAFile(),
			ContainerURL: l.containerURL(vc.Name()),
		})
	}
	return rows, nil
}

// calls counts the calls to every vCenter, by method and client.
func (l *Listing) calls(context.Context) ([]api.Calls, error) {
	if l.World() == nil {
		return nil, api.NotBuilt()
	}
	rows := []api.Calls{}
	for _, vc := range l.VCenters() {
		rows = append(rows, vc.Calls()...)
	}
	return rows, nil
}
