package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// choose returns the targets of a request, in the order of the ground.
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

// place is one criterion of a selector.
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

// among returns the items in the selected places.
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

// nowhere returns the error for a place without items, with a suggestion.
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

// labeled returns the items with matching Kubernetes labels: nodes, and VMs that are nodes.
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

// named returns the items with the requested names, and draws from them if a mode is set.
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
			return nil, unknownName(name, items, all, kind)
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

// MatchesName reports whether a name, which may have wildcards, is one by which a [Selector] chooses the item.
func (i Item) MatchesName(name string) bool { return i.called(name) }

func (i Item) called(name string) bool {
	for _, own := range i.names() {
		if glob.Match(name, own) {
			return true
		}
	}
	// Hostnames are case-insensitive.
	return i.Node != "" && glob.Fold(name, i.Node)
}

// names returns the names by which the item can be chosen.
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

// unknownName returns the error for a name that no item has, or that the rest of the selector excludes.
func unknownName(name string, items, all []Item, kind Object) error {
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
	message := fmt.Sprintf("%s %q not found", kind.noun(), name)
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

// Selector chooses targets. All set fields must match; * and ? are wildcards.
type Selector struct {
	// Names are names, hostnames of nodes, VCENTER/NAME or inventory paths. Each must match at least one item.
	Names      []string
	VCenter    string
	Datacenter string
	Cluster    string
	Host       string
	Region     string
	Zone       string
	Role       string
	// Labels is a Kubernetes label selector, for VMs and nodes.
	Labels string
}

// Request is a request for an injection.
type Request struct {
	Kind   string
	On     Selector
	Params map[string]string
	// Mode is how many of the items chosen by On: one, all, a number, or a percentage ("25%"). Empty: all of Names, or else
	// exactly one; more than one is refused.
	Mode string
	// For is the duration after which it heals automatically; 0: it lasts until it is healed.
	For time.Duration
	// Seed selects the targets and the random choices of the kind. 0: a new seed, which the lease reports.
	Seed uint64
	// Cause is the event that caused the request; 0: none.
	Cause uint64
}
