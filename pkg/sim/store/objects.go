package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// batch is how many objects are asked for at once.
const batch = 50

// objects saves the objects, in order.
func (s *saver) objects(list []vc.Ref) error {
	for start := 0; start < len(list); start += batch {
		refs := list[start:min(start+batch, len(list))]
		found, err := s.all(refs)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			if content, ok := found[ref]; ok {
				if err := s.object(content); err != nil {
					return err
				}
			}
		}
		s.options.Progress(start+len(refs), len(list))
	}
	return nil
}

// all gets all properties of the objects, those that are there.
func (s *saver) all(refs []vc.Ref) (map[vc.Ref]types.ObjectContent, error) {
	content, err := s.ask(refs)
	if gone(err) && len(refs) > 1 {
		// One that is gone spoils the answer for all.
		for _, ref := range refs {
			one, err := s.ask([]vc.Ref{ref})
			if err != nil && !gone(err) {
				return nil, err
			}
			content = append(content, one...)
		}
		err = nil
	}
	if err != nil && !gone(err) {
		return nil, err
	}
	found := make(map[vc.Ref]types.ObjectContent, len(content))
	for _, c := range content {
		found[vc.Ref{Type: c.Obj.Type, Value: c.Obj.Value}] = c
	}
	return found, nil
}

func (s *saver) ask(refs []vc.Ref) ([]types.ObjectContent, error) {
	spec := types.PropertyFilterSpec{}
	kinds := make(map[string]bool)
	for _, ref := range refs {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
		if !kinds[ref.Type] {
			kinds[ref.Type] = true
			spec.PropSet = append(spec.PropSet, properties(ref.Type))
		}
	}
	content, err := mo.RetrievePropertiesEx(s.ctx, s.client, types.RetrievePropertiesEx{
		This:    property.DefaultCollector(s.client).Reference(),
		SpecSet: []types.PropertyFilterSpec{spec},
	})
	if err != nil {
		return nil, fmt.Errorf("%s …: %w", refs[0], err)
	}
	return content, nil
}

// properties says what to save of objects of a type: like govc, no keys of licenses.
func properties(kind string) types.PropertySpec {
	switch kind {
	case "LicenseManager":
		return types.PropertySpec{Type: kind, PathSet: []string{"licenseAssignmentManager"}}
	case "ServiceManager":
		return types.PropertySpec{Type: kind}
	}
	return types.PropertySpec{Type: kind, All: new(true)}
}

// passing tells whether a property says what went on while it was saved: sessions, tasks and views are not the inventory.
func passing(name string) bool {
	switch name {
	case "recentTask", "sessionList", "currentSession", "viewList", "latestEvent", "filter":
		return true
	}
	return false
}

// object writes an object and what is not among its properties.
func (s *saver) object(content types.ObjectContent) error {
	content.MissingSet = nil // what the user may not read
	content.PropSet = slices.DeleteFunc(content.PropSet, func(p types.DynamicProperty) bool { return passing(p.Name) })
	slices.SortFunc(content.PropSet, func(a, b types.DynamicProperty) int { return strings.Compare(a.Name, b.Name) })
	if content.Obj.Type == "OptionManager" {
		hideOptions(content.PropSet)
	}
	if err := s.writer.xml(fmt.Sprintf("%0*d-%s%s", s.digits, s.summary.Objects, content.Obj.Encode(), objectExt), s.scrubbed(content)); err != nil {
		return err
	}
	s.summary.Objects++
	return s.methods(content.Obj)
}

// hideOptions leaves out passwords and the simulator's own settings.
func hideOptions(set []types.DynamicProperty) {
	for i, p := range set {
		all, ok := p.Val.(types.ArrayOfOptionValue)
		if !ok {
			continue
		}
		all.OptionValue = slices.DeleteFunc(slices.Clone(all.OptionValue), func(o types.BaseOptionValue) bool {
			key := strings.ToLower(o.GetOptionValue().Key)
			return strings.HasPrefix(key, "vcsim.") || strings.Contains(key, "password") || strings.Contains(key, "secret")
		})
		set[i].Val = all
	}
}

// scrubbed is the value as it is written.
func (s *saver) scrubbed(content types.ObjectContent) types.ObjectContent {
	if s.scrubber == nil {
		return content
	}
	return scrub(s.scrubber, content)
}
