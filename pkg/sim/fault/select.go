package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// choose returns the targets of a request, in the order in which the ground lists them.
func (g *Ground) choose(ctx context.Context, kind Object, r Request) ([]Item, error) {
	if kind == Sandbox {
		if !r.On.empty() {
			return nil, invalid("%s is about the sandbox as a whole: there is nothing to choose", r.Kind)
		}
		return []Item{{Kind: Sandbox, Name: "sandbox"}}, nil
	}
	if g.Items == nil {
		return nil, &Refusal{Code: "unsupported", Message: fmt.Sprintf("%s: nothing lists the %s here", r.Kind, kind.plural())}
	}
	all, err := g.Items(ctx, kind)
	if err != nil {
		return nil, err
	}
	items, err := r.On.among(all, kind)
	if err != nil {
		return nil, err
	}
	if r.On.Labels != "" {
		if items, err = g.labeled(ctx, items, kind, r.On.Labels); err != nil {
			return nil, err
		}
	}
	if len(r.On.Names) > 0 {
		return r.named(items, all, kind)
	}
	return draw(items, kind, r)
}

func (s Selector) empty() bool {
	return len(s.Names) == 0 && s.Labels == "" && !slices.ContainsFunc(s.places(), func(p place) bool { return p.want != "" })
}

// place is one thing that a selector can ask for.
type place struct {
	what, want string
	of         func(Item) string
}

func (s Selector) places() []place {
	return []place{
		{"vCenter", s.VCenter, func(i Item) string { return i.VCenter }},
		{"datacenter", s.Datacenter, func(i Item) string { return i.Datacenter }},
		{"compute cluster", s.Cluster, func(i Item) string { return i.Cluster }},
		{"host", s.Host, func(i Item) string { return i.Host }},
		{"region", s.Region, func(i Item) string { return i.Region }},
		{"zone", s.Zone, func(i Item) string { return i.Zone }},
		{"role", s.Role, func(i Item) string { return i.Role }},
	}
}

// among keeps what is in the places asked for.
func (s Selector) among(items []Item, kind Object) ([]Item, error) {
	for _, p := range s.places() {
		if p.want == "" {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return !glob.Match(p.want, p.of(i)) })
		if len(left) == 0 {
			return nil, nowhere(items, kind, p)
		}
		items = left
	}
	return items, nil
}

// nowhere says that nothing is in a place, and which place was perhaps meant.
func nowhere(items []Item, kind Object, p place) error {
	var known []string
	for _, i := range items {
		if v := p.of(i); v != "" && !slices.Contains(known, v) {
			known = append(known, v)
		}
	}
	message := fmt.Sprintf("%s %q: no %s is there", p.what, p.want, kind.noun())
	if p.what == "role" {
		message = fmt.Sprintf("%s %q: no %s has it", p.what, p.want, kind.noun())
	}
	if near := nearest.Of(p.want, known); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	} else if len(known) > 0 && len(known) <= 8 {
		message += "; there is " + strings.Join(known, ", ")
	}
	return &Refusal{Code: "not-found", Message: message, Try: kind.lister()}
}

// labeled keeps what Kubernetes has the labels on: nodes, and VMs that are nodes.
func (g *Ground) labeled(ctx context.Context, items []Item, kind Object, selector string) ([]Item, error) {
	if kind != VM && kind != Node {
		return nil, invalid("labels %q: a %s has none: they are those of nodes", selector, kind.noun())
	}
	if _, err := labels.Parse(selector); err != nil {
		return nil, invalid("labels %q: %v", selector, err)
	}
	if g.Cluster == nil {
		return nil, &Refusal{Code: "unsupported", Message: fmt.Sprintf("labels %q: there is no Kubernetes cluster here", selector)}
	}
	list, err := g.Cluster.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("nodes with labels %q: %w", selector, err)
	}
	names := map[string]bool{}
	for i := range list.Items {
		names[list.Items[i].Name] = true
	}
	items = slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return !names[i.Node] && !(kind == Node && names[i.Name]) })
	if len(items) == 0 {
		return nil, &Refusal{Code: "not-found", Message: fmt.Sprintf("labels %q: no %s has them", selector, kind.noun())}
	}
	return items, nil
}

// named keeps what is named, and draws from it if a mode is asked for.
func (r Request) named(items, all []Item, kind Object) ([]Item, error) {
	chosen := make([]bool, len(items))
	for _, name := range r.On.Names {
		var found []Item
		for i, item := range items {
			if item.called(name) {
				chosen[i] = true
				found = append(found, item)
			}
		}
		if len(found) == 0 {
			return nil, nobody(name, items, all, kind)
		}
		if len(found) > 1 && r.Mode == "" && !strings.ContainsAny(name, "*?") {
			return nil, ambiguous(name, found, kind)
		}
	}
	var list []Item
	for i, item := range items {
		if chosen[i] {
			list = append(list, item)
		}
	}
	if r.Mode == "" {
		return list, nil
	}
	return draw(list, kind, r)
}

// Called tells whether a name, which may have wildcards, is one of those by which a [Selector] chooses the item.
func (i Item) Called(name string) bool { return i.called(name) }

func (i Item) called(name string) bool {
	for _, own := range i.names() {
		if glob.Match(name, own) {
			return true
		}
	}
	// Hostnames have no case.
	return i.Node != "" && glob.Fold(name, i.Node)
}

// names are those by which the item can be chosen.
func (i Item) names() []string {
	names := []string{i.Name}
	if i.VCenter != "" {
		names = append(names, i.VCenter+"/"+i.Name)
	}
	if i.Path != "" {
		names = append(names, i.Path, i.VCenter+i.Path)
	}
	if i.Kind == Zone && i.Region != "" {
		names = append(names, i.Region+"/"+i.Name)
	}
	if i.ID != "" {
		names = append(names, i.ID)
	}
	if _, claim, ok := strings.Cut(i.Claim, "/"); ok {
		names = append(names, i.Claim, claim)
	}
	return names
}

// nobody says that a name is nobody's, or that of something that the rest of the selector leaves out.
func nobody(name string, items, all []Item, kind Object) error {
	for _, i := range all {
		if i.called(name) {
			return &Refusal{Code: "not-found", Message: fmt.Sprintf("%s %q: is there, but not where you look for it", kind.noun(), name), Try: kind.lister()}
		}
	}
	var names []string
	for _, i := range items {
		names = append(names, i.Name)
		if i.Claim != "" {
			names = append(names, i.Claim)
		}
		if i.Node != "" && i.Node != i.Name {
			names = append(names, i.Node)
		}
	}
	message := fmt.Sprintf("%s %q: there is none of that name", kind.noun(), name)
	if near := nearest.Of(name, names); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	} else if len(names) > 0 && len(names) <= 8 {
		message += "; there is " + strings.Join(names, ", ")
	}
	return &Refusal{Code: "not-found", Message: message, Try: kind.lister()}
}

func ambiguous(name string, found []Item, kind Object) error {
	names := make([]string, len(found))
	for i, item := range found {
		names[i] = item.String()
		if slices.Contains(names[:i], names[i]) {
			names[i] = item.VCenter + item.Path
		}
	}
	return &Refusal{
		Code:    "ambiguous",
		Message: fmt.Sprintf("%s %q: there are %d: %s", kind.noun(), name, len(found), strings.Join(names, ", ")),
		Try:     "name it as one of these, or say --mode one|all",
	}
}
