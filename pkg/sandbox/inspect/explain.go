package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// Explain says why something is as it is. It asks the vCenters and the API server again, in bounded time.
func (i *Inspector) Explain(ctx context.Context, r api.Subject) (api.Explanation, error) {
	if i.World() == nil {
		return api.Explanation{}, api.NotBuilt()
	}
	explain, ok := map[string]func(context.Context, api.Subject) (api.Explanation, error){
		"node": i.explainNode, "vm": i.explainVM, "volume": i.explainVolume, "service": i.explainService,
	}[r.Kind]
	if !ok {
		return api.Explanation{}, &api.Error{Code: "invalid", Message: fmt.Sprintf("kind %q: there is nothing of that kind to explain", r.Kind), Try: "node, vm, volume or service"}
	}
	if err := nameless(r); err != nil {
		return api.Explanation{}, err
	}
	return explain(ctx, r)
}

// nameless answers to a request that names nothing: there may be something whose name is not known yet.
func nameless(r api.Subject) error {
	if r.Name != "" {
		return nil
	}
	return &api.Error{Code: "invalid", Message: r.Kind + ": it is not said which: the name is empty"}
}

func (i *Inspector) explainNode(ctx context.Context, r api.Subject) (api.Explanation, error) {
	name, err := i.findNode(r.Name)
	if err != nil {
		return api.Explanation{}, err
	}
	return i.nodeCase(ctx, i.Sources(name), name).Explain(), nil
}

// nodeCase gathers all that an explanation of a Node needs.
func (i *Inspector) nodeCase(ctx context.Context, src explain.Sources, name string) explain.Node {
	bound := ""
	if vcenter, vm := i.VMOf(name); vm != "" {
		bound = vcenter + "/" + vm
	}
	if i.Supervisor != nil {
		src.Around.Supervisor = i.Supervisor(ctx, false)
	}
	c := explain.GatherNode(ctx, src, name, bound)
	c.Kubelet, c.Cut = i.component("node/"+name), i.Cut(name)
	return c
}

// findNode finds the node that a request names: by its name, by its VM's, or one that is no more.
func (i *Inspector) findNode(name string) (string, error) {
	if i.Kubernetes() == nil {
		return "", &api.Error{Code: "unsupported", Message: fmt.Sprintf("node %q: this sandbox has no Kubernetes", name)}
	}
	var names, vms []string
	for _, n := range i.World().Nodes() {
		names = append(names, n.Name)
		if n.VM == name {
			vms = append(vms, n.Name)
		}
	}
	all, _ := i.Log.Read(0, 0)
	past := explain.Names(all, "Node")
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
	for _, v := range i.World().VMs() {
		if v.Name == name { // that is no node, which has a reason, too
			return name, nil
		}
	}
	message := fmt.Sprintf("node %q not found, also not among deleted ones", name)
	if near := nearest.Of(name, append(names, past...)); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	return "", &api.Error{Code: "not-found", Message: message, Try: "vsphere-sandbox get nodes"}
}

func (i *Inspector) explainVM(ctx context.Context, r api.Subject) (api.Explanation, error) {
	vcenter, name, err := i.findAnyVM(r)
	if err != nil {
		return api.Explanation{}, err
	}
	c := explain.GatherVM(ctx, i.Sources(name), vcenter, name)
	if node := i.NodeOf(vcenter, name); node != "" && i.Kubernetes() != nil {
		n := i.nodeCase(ctx, i.Sources(node), node)
		c.Node = &n
	}
	return c.Explain(), nil
}

// findAnyVM finds the VM that a request names, also one that is no more.
func (i *Inspector) findAnyVM(r api.Subject) (vcenter, name string, err error) {
	vms := i.World().VMs()
	v, err := world.Find(vms, api.VMRequest{VM: r.Name, VCenter: r.VCenter})
	if err == nil {
		return v.VCenter, v.Name, nil
	}
	if _, missing := errors.AsType[*api.Error](err); !missing {
		return "", "", err
	}
	all, _ := i.Log.Read(0, 0)
	for _, id := range slices.Backward(explain.Names(all, "VM")) {
		vcenter, name, _ := strings.Cut(id, "/")
		if (r.VCenter == "" || vcenter == r.VCenter) && (r.Name == name || r.Name == id) && !slices.ContainsFunc(vms, func(v world.VM) bool {
			return v.Name == name && v.VCenter == vcenter
		}) {
			return vcenter, name, nil
		}
	}
	return "", "", err
}
