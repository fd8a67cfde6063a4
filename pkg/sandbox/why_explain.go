package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/why"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// routeWhy adds what tells of one thing at length.
func (s *Sandbox) routeWhy(mux *http.ServeMux) {
	mux.Handle("POST /v1/explain", control.Request(s.explain))
	mux.Handle("POST /v1/inspect", control.Request(s.inspect))
}

// explain tells why something is as it is. It asks the vCenters and the API server anew, in bounded time.
func (s *Sandbox) explain(ctx context.Context, r api.Subject) (api.Explanation, error) {
	if err := s.built(); err != nil {
		return api.Explanation{}, err
	}
	tell, ok := map[string]func(context.Context, api.Subject) (api.Explanation, error){
		"node": s.explainNode, "vm": s.explainVM, "volume": s.explainVolume,
	}[r.Kind]
	if !ok {
		return api.Explanation{}, &api.Error{Code: "invalid", Message: fmt.Sprintf("kind %q: there is nothing of that kind to explain", r.Kind), Try: "node, vm or volume"}
	}
	if err := nameless(r); err != nil {
		return api.Explanation{}, err
	}
	return tell(ctx, r)
}

// nameless answers to a request that names nothing: there may be something whose name is not known yet.
func nameless(r api.Subject) error {
	if r.Name != "" {
		return nil
	}
	return &api.Error{Code: "invalid", Message: r.Kind + ": it is not said which: the name is empty"}
}

func (s *Sandbox) explainNode(ctx context.Context, r api.Subject) (api.Explanation, error) {
	name, err := s.findNode(r.Name)
	if err != nil {
		return api.Explanation{}, err
	}
	return s.nodeCase(ctx, s.sources(name), name).Explain(), nil
}

// nodeCase gathers all that is to be known of a node.
func (s *Sandbox) nodeCase(ctx context.Context, src why.Sources, name string) why.Node {
	bound := ""
	if b := s.nodes.behind(name); b.vm != "" {
		bound = b.vcenter + "/" + b.vm
	}
	c := why.GatherNode(ctx, src, name, bound)
	c.Kubelet = s.componentRow("node/" + name)
	if t, err := s.nodes.supervised(name); err == nil {
		if w := s.wires.find(t.wire); w != nil {
			c.Cut = w.IsCut()
		}
	}
	return c
}

// findNode finds the node that a request names: by its name, by its VM's, or one that is no more.
func (s *Sandbox) findNode(name string) (string, error) {
	if s.clientset() == nil {
		return "", &api.Error{Code: "unsupported", Message: fmt.Sprintf("node %q: this sandbox has no Kubernetes", name)}
	}
	var names, vms []string
	for _, n := range s.world.Nodes() {
		names = append(names, n.Name)
		if n.VM == name {
			vms = append(vms, n.Name)
		}
	}
	all, _ := s.log.Read(0, 0)
	past := why.Names(all, "Node")
	switch {
	case slices.Contains(names, name), slices.Contains(past, name):
		return name, nil
	case len(vms) == 1:
		return vms[0], nil
	case len(vms) > 1:
		return "", &api.Error{
			Code: "ambiguous", Message: fmt.Sprintf("node %q: there are %d with a VM of that name: %s", name, len(vms), strings.Join(vms, ", ")), Try: "name the node",
		}
	}
	for _, v := range s.world.VMs() {
		if v.Name == name { // that is no node, which has a reason, too
			return name, nil
		}
	}
	message := fmt.Sprintf("node %q: there is none, and there was none", name)
	if near := nearest.Of(name, append(names, past...)); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	return "", &api.Error{Code: "not-found", Message: message, Try: "vsphere-sandbox get nodes"}
}

func (s *Sandbox) explainVM(ctx context.Context, r api.Subject) (api.Explanation, error) {
	vcenter, name, err := s.findAnyVM(r)
	if err != nil {
		return api.Explanation{}, err
	}
	c := why.GatherVM(ctx, s.sources(name), vcenter, name)
	if node := s.nodeOf(vcenter, name); node != "" && s.clientset() != nil {
		n := s.nodeCase(ctx, s.sources(node), node)
		c.Node = &n
	}
	return c.Explain(), nil
}

// nodeOf is the node that a VM is or is to be, "" for none.
func (s *Sandbox) nodeOf(vcenter, name string) string {
	for _, v := range s.world.VMs() {
		if v.VCenter == vcenter && v.Name == name {
			if v.Role == "" {
				return ""
			}
			return s.nodes.named(v)
		}
	}
	s.nodes.mu.Lock() // one that is gone may have left its node
	defer s.nodes.mu.Unlock()
	for node, b := range s.nodes.bound {
		if b.vcenter == vcenter && b.vm == name {
			return node
		}
	}
	return ""
}

// findAnyVM finds the VM that a request names, also one that is no more.
func (s *Sandbox) findAnyVM(r api.Subject) (vcenter, name string, err error) {
	vms := s.world.VMs()
	v, err := world.Find(vms, api.VMRequest{VM: r.Name, VCenter: r.VCenter})
	if err == nil {
		return v.VCenter, v.Name, nil
	}
	if _, missing := errors.AsType[*api.Error](err); !missing {
		return "", "", err
	}
	all, _ := s.log.Read(0, 0)
	for _, id := range slices.Backward(why.Names(all, "VM")) {
		vcenter, name, _ := strings.Cut(id, "/")
		if (r.VCenter == "" || vcenter == r.VCenter) && (r.Name == name || r.Name == id) && !slices.ContainsFunc(vms, func(v world.VM) bool {
			return v.Name == name && v.VCenter == vcenter
		}) {
			return vcenter, name, nil
		}
	}
	return "", "", err
}
