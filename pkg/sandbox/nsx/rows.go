package nsx

import (
	"context"
	"net/http"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

// Register adds the handlers of the control API.
func (p *Part) Register(mux *http.ServeMux) {
	mux.Handle("GET /v1/nsx", control.Answer(func(context.Context) (any, error) { return p.Rows() }))
}

// Rows lists the objects by path: none without a manager.
func (p *Part) Rows() ([]api.NSXObject, error) {
	all := []api.NSXObject{}
	m := p.Manager()
	if m == nil {
		return all, nil
	}
	for _, o := range m.Tree().All() {
		entity, err := m.Tree().Realize(text(o, "path"))
		if err != nil {
			continue // it was deleted in between
		}
		revision, _ := o["_revision"].(int64)
		row := api.NSXObject{
			Type: text(o, "resource_type"), Name: text(o, "display_name"), Path: text(o, "path"), State: text(entity, "state"),
			Error: text(entity, "runtime_error"), Address: text(o, "ip_address"), Revision: revision, User: text(o, "_create_user"), Object: o,
		}
		attributes, _ := entity["extended_attributes"].([]any)
		for _, v := range attributes {
			if a, _ := v.(tree.Object); text(a, "key") == "allocation_ip" {
				row.Address, _ = a["values"].([]any)[0].(string)
			}
		}
		tags, _ := o["tags"].([]any)
		for _, v := range tags {
			if tag, _ := v.(tree.Object); text(tag, "scope") == "service" {
				row.Service = text(tag, "tag")
			}
		}
		all = append(all, row)
	}
	return all, nil
}

func text(o tree.Object, field string) string {
	s, _ := o[field].(string)
	return s
}
